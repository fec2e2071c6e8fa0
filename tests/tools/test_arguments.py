"""Arguments of tool calls: whatever a model sends is read or refused, never a crash and never a guess."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl.tools.arguments import check_arguments, read_arguments
from tuvl.tools.schema import ValueSchema, schema_problem

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.text() | st.none() | st.integers() | st.lists(st.integers()))
def test_reading_never_raises_and_history_is_always_a_json_object(raw):
    read = read_arguments(raw)
    assert isinstance(json.loads(read.history), dict)
    assert read.problem is None or read.values == {}


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values, max_size=5))
def test_an_object_survives_text_and_text_in_text(value):
    text = json.dumps(value)
    for raw in (value, text, json.dumps(text)):
        read = read_arguments(raw)
        assert read.problem is not None or read.values == value


@given(json_values, st.sampled_from(["strict", "lenient", "none"]))
def test_checking_never_raises_whatever_the_schema_and_value(value, mode):
    schema = ValueSchema(
        {
            "type": "object",
            "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "array", "items": {"type": "boolean"}}},
        }
    )
    values, problem = check_arguments({"a": value, "b": value}, schema, mode)
    assert problem is not None or mode == "none" or schema.is_valid(values)


def test_a_repeated_key_is_refused():
    assert read_arguments('{"a": 1, "a": 2}').problem == "the arguments repeat a key"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_decoded_arguments_are_checked_like_text(value):
    assert read_arguments({"a": value}).problem is not None


@pytest.mark.parametrize(
    ("schema", "given_value", "wanted"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "string"}, 3, "3"),
        ({"type": "boolean"}, "true", True),
        ({"type": "number"}, "2", 2),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "integer"}, "2.5", "2.5"),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": "string"}, True, True),
        ({"type": ["string", "integer"]}, "3", "3"),
    ],
)
def test_lenient_coercion_is_guided_by_the_schema(schema, given_value, wanted):
    values, problem = check_arguments(
        {"x": given_value}, ValueSchema({"type": "object", "properties": {"x": schema}}), "lenient"
    )
    assert values == {"x": wanted}
    assert type(values["x"]) is type(wanted)
    assert (problem is None) == ValueSchema(schema).is_valid(wanted)


@pytest.mark.parametrize("mode", ["strict", "lenient", "none"])
def test_reserved_names_are_refused_in_every_mode(mode):
    _, problem = check_arguments({"_session": 1}, ValueSchema({"type": "object"}), mode)
    assert "'_session'" in problem


def test_violations_name_path_and_rule_and_hold_no_value():
    schema = ValueSchema(
        {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"minimum": 0}}}},
                "kind": {"enum": ["a", "b"]},
            },
            "required": ["id"],
            "additionalProperties": False,
        }
    )
    found = [str(violation) for violation in schema.violations({"items": [{"price": -4711}], "kind": "SECRET", "z": 1})]
    assert "items[0].price: must be at least 0" in found
    assert 'kind: must be one of "a", "b"' in found
    assert 'required key "id" is missing' in found
    assert "4711" not in str(found)
    assert "SECRET" not in str(found)


@pytest.mark.parametrize(
    "schema",
    [{"type": "objekt"}, {"properties": 3}, {"pattern": "(a"}, {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "#/no"}],
)
def test_a_broken_schema_is_told_in_one_line_and_nothing_is_fetched(schema):
    problem = schema_problem(schema)
    assert problem
    assert "\n" not in problem


def test_a_sound_schema_has_no_problem():
    assert (
        schema_problem(
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}
        )
        is None
    )
