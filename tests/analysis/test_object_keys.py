"""Which keys an object may have and must is what a validator says of objects that have them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.analysis.object_keys import ObjectKeys
from tuvl.tools.schema import ValueSchema

NAMES = ("a", "b", "x_a", "x_b")
CLOSED = {"additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "may", "is_open"),
    [
        ({}, {"a", "b", "x_a"}, True),
        (CLOSED, set(), False),
        ({**CLOSED, "properties": {}}, set(), False),
        ({"additionalProperties": {"not": {}}}, set(), False),
        ({**CLOSED, "properties": {"a": True, "b": False}}, {"a"}, False),
        ({"properties": {"a": False}}, {"b", "x_a"}, True),
        ({**CLOSED, "patternProperties": {"^x_": True}}, {"x_a"}, True),
        ({**CLOSED, "patternProperties": {"^x_a$": True}}, {"x_a"}, True),
        ({**CLOSED, "patternProperties": {"^x_": False}}, set(), False),
        ({**CLOSED, "patternProperties": {"a|b": True}}, {"a", "b", "x_a"}, True),
        ({"maxProperties": 0}, set(), False),
        ({"maxProperties": 1}, {"a", "b", "x_a"}, True),
        ({"propertyNames": False}, set(), False),
        ({"propertyNames": {"enum": ["a"]}}, {"a"}, False),
        ({"propertyNames": {"pattern": "^x_+"}}, {"x_a"}, True),
        ({"const": {"a": 1}}, {"a"}, False),
        ({"enum": [{"a": 1}, {"b": 1}, 3]}, {"a", "b"}, False),
        ({"allOf": [{**CLOSED, "properties": {"a": {}, "b": {}}}, {"properties": {"b": {}}}]}, {"a", "b"}, False),
        ({"allOf": [{**CLOSED, "properties": {"a": {}}}, {**CLOSED, "properties": {"b": {}}}]}, set(), False),
        ({"properties": {"b": {}}, "allOf": [{**CLOSED, "properties": {"a": {}}}]}, {"a"}, False),
        ({"allOf": [False]}, set(), False),
        ({"anyOf": [{**CLOSED, "properties": {"a": {}}}, {**CLOSED, "properties": {"b": {}}}]}, {"a", "b"}, False),
        ({"anyOf": [{**CLOSED, "properties": {"a": {}}}, {}]}, {"a", "b", "x_a"}, True),
        ({"oneOf": [{**CLOSED}, {**CLOSED, "properties": {"b": {}}}]}, {"b"}, False),
        ({"if": {"required": ["a"]}, "then": CLOSED, "else": CLOSED}, set(), False),
        ({"if": {"required": ["a"]}, "then": CLOSED}, {"a", "b", "x_a"}, True),
        ({"$ref": "#/$defs/no", "$defs": {"no": CLOSED}}, set(), False),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {**CLOSED, "properties": {"a": {}}}}}, {"a"}, False),
        ({"allOf": [{"$ref": "#"}], **CLOSED}, set(), False),
        ({"$ref": "#/nowhere"}, {"a", "b", "x_a"}, True),
        ({"unevaluatedProperties": False}, set(), False),
        ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, {"a"}, False),
        ({"unevaluatedProperties": False, "anyOf": [{"additionalProperties": True}]}, {"a", "b", "x_a"}, True),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),  # a set's own order differs
)
def test_keys_that_may_be_there(schema: dict[str, Any], may: set[str], is_open: bool) -> None:
    keys = ObjectKeys(schema)
    assert {name for name in ("a", "b", "x_a") if keys.may_have(name)} == may
    assert keys.is_open is is_open


def test_keys_that_must_be_there_are_found_through_references_and_parts() -> None:
    schema = {"required": ["a"], "allOf": [{"$ref": "#/$defs/b"}], "$defs": {"b": {"required": ["b"]}}}
    assert ObjectKeys({**schema, "anyOf": [{"required": ["c"]}, {}]}).required == {"a", "b"}


def test_schema_of_very_many_parts_is_not_followed_into_each() -> None:
    keys = ObjectKeys({"allOf": [{**CLOSED, "properties": {f"k{number}": {}}} for number in range(5000)]})
    assert keys.is_open
    assert keys.may_have("anything")


leaves = st.sampled_from(
    [
        True,
        False,
        CLOSED,
        {"additionalProperties": True},
        {"unevaluatedProperties": False},
        {"maxProperties": 0},
        {"minProperties": 1},
        {"not": {"required": ["a"]}},
        {"$ref": "#"},
        {"$ref": "#/$defs/one"},
        {"propertyNames": {"enum": ["a", "x_a"]}},
        {"propertyNames": {"pattern": "^x_"}},
        {"const": {"a": 1}},
    ]
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(NAMES), st.sampled_from([True, False, {"not": {}}]), max_size=2),
        "patternProperties": st.dictionaries(
            st.sampled_from(["^x_", "^x_a$", "a", "^xy?_b", "b$"]), st.booleans(), max_size=1
        ),
        "additionalProperties": st.booleans(),
        "unevaluatedProperties": st.booleans(),
        "required": st.lists(st.sampled_from(NAMES), unique=True, max_size=1),
        "maxProperties": st.integers(0, 2),
    },
)
schemas = st.recursive(
    st.one_of(leaves, objects),
    lambda below: st.fixed_dictionaries(
        {},
        optional={
            "allOf": st.lists(below, min_size=1, max_size=2),
            "anyOf": st.lists(below, min_size=1, max_size=2),
            "oneOf": st.lists(below, min_size=1, max_size=2),
            "if": below,
            "then": below,
            "else": below,
            "properties": st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=2),
            "additionalProperties": st.booleans(),
            "unevaluatedProperties": st.booleans(),
        },
    ),
    max_leaves=6,
)


@given(schemas.filter(lambda schema: isinstance(schema, dict)), schemas, st.sets(st.sampled_from((*NAMES, "zz"))))
@settings(max_examples=100, deadline=None)
def test_no_object_that_passes_has_a_key_it_may_not_or_lacks_one_it_must(
    schema: dict[str, Any], one: Any, names: set[str]
) -> None:
    schema = {**schema, "$defs": {"one": one}}
    keys = ObjectKeys(schema)
    if ValueSchema(schema).is_valid(dict.fromkeys(sorted(names), 1)):
        assert all(keys.may_have(name) for name in names)
        assert keys.required <= names
        assert keys.is_open or names <= keys.named
