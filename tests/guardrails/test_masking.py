"""Masks: what is found, by name and by look, at any depth; what is left alone; and that nothing else changes."""

import copy
import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl.guardrails.masking.fields import plain_name
from tuvl.guardrails.masking.masker import Masker
from tuvl.values import to_json

CARD = "4111 1111 1111 1111"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to jo.doe+x@mail.example.com now", "write to [email] now"),
        ("josé.münz@exämple.de", "[email]"),
        ("mailto:jo%40example.com", "mailto:[email]"),
        (f"card {CARD}, thanks", "card [card], thanks"),
        ("12 4111-1111-1111-1111 9", "12 [card] 9"),
        ("ref_4111111111111111", "ref_[card]"),
        ("pay DE89 3704 0044 0532 0130 00 please", "pay [iban] please"),
        ("gb82west12345698765432", "[iban]"),
        ("call +49 30 1234567", "call [phone]"),
        ("call (415) 555-1234 or 415-555-1234", "call [phone] or [phone]"),
        ("01 23 45 67 89", "[phone]"),
        ("key sk-proj-abcdefghijklmnop1234", "key [key]"),
        ("AKIAIOSFODNN7EXAMPLE", "[key]"),
        ("postgres://ann:s3cret@db/x", "postgres://[key]@db/x"),
        ("-----BEGIN PRIVATE KEY-----\nMIIab\n-----END PRIVATE KEY-----", "[key]"),
    ],
)
def test_what_looks_like_personal_data_or_a_key_is_masked(text, masked):
    assert Masker().text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "order 1234567890123 of 2024-01-15 12:30:44",
        "4111 1111 1111 1112",
        "GB82 WEST 1234 5698 7654 33",
        "version 10.20.300, 1,000 pieces at 12.50",
        '{"id":1700000000000,"total":415.55,"at":"2026-11-29T20:11:04+00:00"}',
        "a note about passwords and tokens",
        "my_api_key_name = 5",
        "",
        "12 monkeys",
    ],
)
def test_what_only_resembles_it_is_left_alone(text):
    assert Masker().text(text) == text


@pytest.mark.parametrize("key", ["API-Key", "api_key", "apiKey", "APIKEY", "Api Key"])
def test_a_name_is_known_in_every_spelling(key):
    """O04 mask.nested: key case API-Key."""
    assert json.loads(Masker().text(json.dumps({"a": {"b": [{key: "S"}]}}))) == {"a": {"b": [{key: "***"}]}}


def test_a_field_that_is_declared_is_masked_whatever_it_holds_and_null_stays_null():
    masked = Masker(["Customer No"]).value({"customer_no": {"a": 1}, "customerNo": [1], "CUSTOMER-NO": None})
    assert masked == {"customer_no": "***", "customerNo": "***", "CUSTOMER-NO": None}


def test_json_inside_strings_is_opened_at_any_depth_and_stays_json():
    inner = json.dumps({"password": "hunter2", "mail": "jo@example.com", "n": 1})
    text = json.dumps({"payload": json.dumps({"deeper": inner})})
    once = json.loads(json.loads(json.loads(Masker().text(text))["payload"])["deeper"])
    assert once == {"password": "***", "mail": "[email]", "n": 1}


def test_an_escape_does_not_hide_an_address():
    assert "example" not in Masker().text('{"a":"jo\\u0040example.com"}')
    assert "example" not in Masker().text('see {"a":"jo\\u0040example.com"}')
    assert "example" not in Masker().text('```json\n{"a":"{\\"b\\":\\"jo\\\\u0040example.com\\"}"}\n```')


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("?api_key=abc&x=1", "?api_key=***&x=1"),
        ('{"password":"k", broken', '{"password":"***", broken'),
        ('{"password":"never closed', '{"password":"***'),
        ('{"pin": 1, "ssn": 123', '{"pin": 1, "ssn": "***"'),
        ('log "{\\"secret\\": \\"v\\\\\\\\\\"}" end', 'log "{\\"secret\\": \\"***\\"}" end'),
        ('secret: {"a": ["}", 1]} end', "secret: *** end"),
        ("Authorization: Bearer abc.def end", "Authorization: *** end"),
        ('{"a":1,"a":"jo@example.com"}', '{"a":1,"a":"[email]"}'),
    ],
)
def test_text_that_is_no_json_is_masked_by_name_too(text, masked):
    assert Masker().text(text) == masked


def test_two_keys_that_are_masked_alike_both_stay():
    assert Masker().value({"a@b.co": 1, "c@d.co": 2}) == {"[email]": 1, "[email] (2)": 2}


def test_a_number_that_is_a_card_is_masked_and_others_are_numbers():
    assert Masker().text('{"n":4111111111111111,"m":12,"f":1.50}') == '{"n":"[card]","m":12,"f":1.5}'


def test_other_types_are_masked_in_their_json_form():
    """O04 mask.nested: tuple, dataclass."""

    @dataclass
    class Account:
        token: str
        mails: tuple[str, ...]

    assert Masker().value(to_json(Account("t", ("jo@example.com",)))) == {"token": "***", "mails": ["[email]"]}


def test_live_data_is_untouched():
    """O04 mask.nested: live data untouched."""
    live = {"a": [{"api_key": "S", "mail": "jo@example.com"}], "t": '{"secret":1}'}
    before = copy.deepcopy(live)
    masked = Masker().value(live)
    assert live == before
    assert masked["a"][0] is not live["a"][0]


def test_json_nested_deeper_than_it_is_opened_is_masked_as_text():
    value: object = {"mail": "jo@example.com", "password": "hunter2"}
    for _ in range(12):
        value = {"in": json.dumps(value)}
    masked = Masker().text(json.dumps(value))
    assert "jo@" not in masked
    assert "hunter2" not in masked


@pytest.mark.parametrize(
    "text", ["[" * 5000, '{"a":' * 5000, '"' * 5000, "\\" * 5000 + '"', "[\n" * 5000, "1 " * 20000]
)
def test_hostile_shapes_are_masked_without_an_error(text):
    assert Masker().text(text + "jo@example.com").endswith(("[email]", "[email]\n"))


_SECRETS = st.sampled_from(
    ["jo.doe@example.com", CARD, "DE89370400440532013000", "+49 30 1234567", "sk-abcdefghijklmnop12"]
)
_PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), _PLAIN, _SECRETS.map(lambda secret: f"see {secret} there"))


def _nested(children):
    objects = st.dictionaries(st.one_of(_PLAIN, st.sampled_from(["password", "apiKey", "note"])), children, max_size=4)
    held = children.map(lambda value: json.dumps(value))
    return st.one_of(st.lists(children, max_size=4), objects, held)


VALUES = st.recursive(_LEAVES, _nested, max_leaves=12)


def _texts(value):
    if isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        if isinstance(inner, dict | list | str):
            yield from _texts(inner)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


@given(VALUES)
def test_no_value_leaks_at_any_depth_and_masking_twice_changes_nothing(value):
    masker = Masker()
    masked = masker.value(value)
    for text in _texts(masked):
        for secret in ("jo.doe@example.com", CARD, "DE89370400440532013000", "+49 30 1234567", "sk-abcdefghijklmnop12"):
            assert secret not in text
    assert masker.value(masked) == masked


@given(VALUES, st.integers(0, 400))
def test_nothing_masked_leaks_over_the_cut(value, cut):
    """The whole text is masked before it is cut, so no head of a secret stands at the end."""
    text = Masker().text(json.dumps({"before": "x" * 40, "value": value, "mail": "jo.doe@example.com"}))
    assert "jo.doe@" not in text[:cut]


@given(st.text(max_size=200))
def test_any_text_is_masked_without_an_error_and_only_once(text):
    masker = Masker(["note"])
    once = masker.text(text)
    assert masker.text(once) == once


@given(
    st.lists(
        st.sampled_from(
            [
                "jo@ex.com",
                CARD,
                "4111",
                " ",
                "-",
                "_",
                ":",
                "=",
                "secret",
                '"',
                "{",
                "}",
                "\\",
                "[",
                "]",
                "\n",
                "+49",
                "a",
                "0171/1234567",
                "@",
                "DE89",
                "://u:p@h",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_masking_is_idempotent_on_texts_made_of_what_it_looks_for(text):
    masker = Masker()
    once = masker.text(text)
    assert masker.text(once) == once


@given(VALUES)
def test_json_that_is_masked_is_still_json(value):
    json.loads(Masker().text(json.dumps({"value": value})))


@given(st.text(max_size=30))
def test_a_plain_name_has_no_case_and_no_separators(name):
    assert plain_name(plain_name(name)) == plain_name(name)
