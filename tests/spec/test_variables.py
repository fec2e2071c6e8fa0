"""`${VAR}` in configuration: replaced once, from the environment, or an error that names variable and field."""

import pytest

from tuvl.errors import ConfigError
from tuvl.spec.variables import Variable, expand, variables

ENVIRON = {"KEY": "secret", "HOST": "h", "EMPTY": "", "NESTED": "${KEY}"}


def expanded(value: object) -> object:
    return expand(value, environ=ENVIRON, where="llms/fast.yaml")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${KEY}", "secret"),
        ("https://${HOST}:${PORT:8080}/v1", "https://h:8080/v1"),
        ("${EMPTY}", ""),
        ("${EMPTY:x}", ""),
        ("${NONE:}", ""),
        ("${NONE:a b:c}", "a b:c"),
        ("$KEY costs $5", "$KEY costs $5"),
        ("{{ KEY }}", "{{ KEY }}"),
    ],
)
def test_variable_is_replaced(text: str, result: str) -> None:
    assert expanded(text) == result


def test_value_of_a_variable_is_not_read_again() -> None:
    assert expanded("${NESTED}") == "${KEY}"


def test_texts_are_found_at_any_depth_and_nothing_else_is_touched() -> None:
    value = {"a": ["${KEY}", 1, None, {"b": "${HOST}"}], "${KEY}": True}
    assert expanded(value) == {"a": ["secret", 1, None, {"b": "h"}], "${KEY}": True}
    assert value["a"] == ["${KEY}", 1, None, {"b": "${HOST}"}]


def test_missing_variable_names_variable_file_and_field_and_no_other_value() -> None:
    with pytest.raises(ConfigError) as caught:
        expanded({"spec": {"api_key": "${KEY}-${MISSING}"}})
    assert "llms/fast.yaml, field 'spec.api_key'" in str(caught.value)
    assert "'MISSING'" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["${", "${}", "${1A}", "${A", "${A-B}", "${A:${KEY}}"])
def test_what_only_looks_like_a_variable_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="starts no variable"):
        expanded(text)


def test_variables_are_listed_with_defaults_and_places() -> None:
    value = {"url": "${HOST}/${PORT:80}", "keys": ["${KEY}"]}
    assert list(variables(value)) == [  # type: ignore[arg-type]
        Variable("HOST", None, ("url",)),
        Variable("PORT", "80", ("url",)),
        Variable("KEY", None, ("keys", 0)),
    ]
