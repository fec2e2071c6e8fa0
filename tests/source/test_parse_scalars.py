"""What plain scalars mean (YAML 1.2 core schema), and where other tools read something else."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.source.document import parse_text
from tuvl.source.scalars import other_reading


def read(text: str) -> object:
    source = parse_text(f"v: {text}\n".encode(), file="x.yaml")
    assert source.problems == ()
    return source.documents[0].data["v"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("null", None),
        ("~", None),
        ("", None),
        ("Null", None),
        ("nil", "nil"),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1.5", 1.5),
        ("1.10", 1.1),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5E-2", -0.015),
        (".", "."),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("NO", "NO"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("2024-01-02", "2024-01-02"),
        ("2024-01-02 10:00:00", "2024-01-02 10:00:00"),
        ("'true'", "true"),
        ('"12"', "12"),
        ("'~'", "~"),
        ("artifact://x@1", "artifact://x@1"),
        ("=", "="),
    ],
)
def test_a_plain_scalar_means_what_the_core_schema_says(text, value):
    """M02, M07"""
    found = read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "9" * 5000, "0x" + "f" * 5000])
def test_a_number_that_json_cannot_hold_is_refused_at_its_place(text):
    source = parse_text(f"a: 1\nv: {text}\n".encode(), file="x.yaml")
    (problem,) = source.problems
    assert (problem.code, problem.range.start, problem.path) == ("TV001", (2, 4), ("v",))
    assert source.documents[0].ambiguous is not None


@pytest.mark.parametrize(
    ("text", "elsewhere"),
    [
        ("yes", "true"),
        ("Off", "false"),
        ("NO", "false"),
        ("on", "true"),
        ("010", "the number 8"),
        ("08", "text"),
        ("1:30", "the number 90"),
        ("12:30:00", "the number 45000"),
        ("1_000", "the number 1000"),
        ("0b101", "the number 5"),
        ("2024-01-02", "a date"),
        ("2024-01-02T10:00:00Z", "a date"),
        ("1.10", "the number 1.1"),
        ("1e3", "text"),
        ("0o14", "text"),
        ("true", None),
        ("1.5", None),
        ("10", None),
        ("0", None),
        ("0x1F", None),
        ("1.0", None),
        ("yesterday", None),
        ("v1.10", None),
        ("", None),
        ("1.5e+3", None),
    ],
)
def test_what_other_tools_read_differently_is_known(text, elsewhere):
    assert other_reading(text) == elsewhere


def test_ambiguous_values_are_listed_with_path_and_place_and_keys_are_not():
    text = "on: yes\nlist:\n  - 'yes'\n  - 010\nsame: &a [1:30]\ntwice: *a\n"
    (document,) = parse_text(text.encode(), file="x.yaml").documents
    found = [(item.path, item.text, item.here, item.range.start) for item in document.ambiguous]
    assert found == [
        (("on",), "yes", "text", (1, 5)),
        (("list", 1), "010", "the number 10", (4, 5)),
        (("same", 0), "1:30", "text", (5, 11)),
    ]


json_text = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufffe\uffff\ufeff\x85\u2028\u2029")
).filter(lambda text: all(ord(char) % 0x10000 < 0xFFFE for char in text))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | json_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_text, inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
@settings(deadline=None)
def test_every_json_text_is_read_as_the_same_value(value):
    raw = json.dumps({"v": value}, ensure_ascii=False).encode()
    source = parse_text(raw, file="x.yaml")
    assert source.problems == ()
    assert source.documents[0].data == {"v": value}
