"""Input that a person hands in: JSON or YAML, or one message."""

import pytest

from tuvl.errors import UsageError
from tuvl.source.loading import load_data


@pytest.mark.parametrize(
    ("raw", "name", "value"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', "in.json", {"a": [1, 2.5, None, True, "x"]}),
        (b'\xef\xbb\xbf{"a": 1}', "in.json", {"a": 1}),
        (b"a: yes\nb: 2024-01-02\n", "in.yaml", {"a": "yes", "b": "2024-01-02"}),
        (b"a: 1\n", "-", {"a": 1}),
        (b'\t{"a": 1}', "-", {"a": 1}),
        (b"{a: 1}", "-", {"a": 1}),
        (b"3", "in.json", 3),
        (b'{"a": {"b": &x 1, "c": *x}}', "in.yml", {"a": {"b": 1, "c": 1}}),
        (b"true: 1", "-", {"true": 1}),
    ],
)
def test_json_and_yaml_are_read(raw, name, value):
    assert load_data(raw, name=name) == value


def test_the_format_given_wins_over_the_ending():
    assert load_data(b"{a: 1}", name="in.json", format="yaml") == {"a": 1}


@pytest.mark.parametrize(
    ("raw", "name", "message"),
    [
        (b'{"a": 1, "a": 2}', "in.json", "in.json:1:10: the key 'a' is given twice"),
        (b'{"a": NaN}', "in.json", "in.json: NaN is not a JSON value"),
        (b'{"a": -Infinity}', "in.json", "in.json: -Infinity is not"),
        (b'{"a": 1e999}', "in.json", "in.json: 1e999 is too large"),
        (b'{"a": ', "in.json", "in.json:1:7: no JSON"),
        (b"{a: 1}", "in.json", "in.json:1:2: no JSON"),
        (b'{"a": 1} x', "-", "-:1:10: no JSON"),
        (b"", "in.json", "in.json is empty"),
        (b"# nothing\n", "in.yaml", "in.yaml is empty"),
        (b"a: [1\n", "in.yaml", "in.yaml:1:4: this '['"),
        (b"a: 1\na: 2\n", "in.yaml", "in.yaml:2:1: the key 'a'"),
        (b"a: 1\n---\nb: 1\n", "in.yaml", "in.yaml:3:1: a second document"),
        (b"a: .nan\n", "in.yaml", "in.yaml:1:4: '.nan'"),
        (b"a: \xff\n", "in.yaml", "in.yaml:1:4: byte 0xff"),
        ("{}".encode("utf-16"), "in.json", "in.json:1:1: the file is UTF-16"),
        (b"[" * 100_000, "in.json", "in.json is nested too deeply"),
        (b"[" * 100 + b"]" * 100, "in.json", "nested deeper"),
        (b"9" * 5000, "in.json", "in.json holds an integer of too many digits"),
        (b'"\\ud800"', "in.json", "lone surrogate"),
    ],
)
def test_anything_else_is_one_usage_error_with_its_place(raw, name, message):
    with pytest.raises(UsageError) as error:
        load_data(raw, name=name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
