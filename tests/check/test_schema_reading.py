"""Our reading of a JSON Schema and the library's: the same verdict, and a place with it."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuvl.check.schema_reading import read_schema
from tuvl.tools.schema import schema_problem

VALID: list[dict[str, Any]] = [
    {},
    {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
    {"type": "array", "items": False, "prefixItems": [{"const": 1}, True], "minItems": 0},
    {"anyOf": [{"minimum": 1.5}, {"multipleOf": 0.5}], "not": {}},
    {"$defs": {"x/y": {"type": "string"}}, "$ref": "#/$defs/x~1y"},
    {"$ref": "#"},
    {"pattern": "^T-[0-9]+$", "format": "made-up", "default": [1], "examples": [2]},
    {"patternProperties": {"^x": {"maxLength": 3}}, "additionalProperties": {"type": "integer"}},
    {"if": {"required": []}, "then": {"maxProperties": 2}, "else": True},
    {"enum": [1, "a", None, {"b": 1}]},
]

INVALID: list[tuple[dict[str, Any], tuple[str | int, ...]]] = [
    ({"type": "str"}, ("type",)),
    ({"type": []}, ("type",)),
    ({"type": ["string", "string"]}, ("type",)),
    ({"properties": []}, ("properties",)),
    ({"properties": {"a": "string"}}, ("properties", "a")),
    ({"items": [{"type": "string"}]}, ("items",)),
    ({"required": True}, ("required",)),
    ({"required": ["a", "a"]}, ("required",)),
    ({"required": [1]}, ("required",)),
    ({"minLength": -1}, ("minLength",)),
    ({"minLength": True}, ("minLength",)),
    ({"minimum": "1"}, ("minimum",)),
    ({"multipleOf": 0}, ("multipleOf",)),
    ({"anyOf": []}, ("anyOf",)),
    ({"allOf": {}}, ("allOf",)),
    ({"uniqueItems": 1}, ("uniqueItems",)),
    ({"enum": "a"}, ("enum",)),
    ({"pattern": 1}, ("pattern",)),
    ({"title": 1}, ("title",)),
    ({"properties": {"a": {"anyOf": [{"type": "x"}]}}}, ("properties", "a", "anyOf", 0, "type")),
    ({"additionalProperties": None}, ("additionalProperties",)),
    ({"$ref": "#/$defs/none"}, ("$ref",)),
    ({"$ref": "https://example.org/schema"}, ("$ref",)),
]


@pytest.mark.parametrize("schema", VALID, ids=str)
def test_valid_schema_is_taken_by_both(schema: dict[str, Any]) -> None:
    assert read_schema(schema).problems == []
    assert schema_problem(schema) is None


@pytest.mark.parametrize(("schema", "path"), INVALID, ids=str)
def test_invalid_schema_is_refused_by_both_and_has_its_place(
    schema: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    assert [problem.path for problem in read_schema(schema).problems] == [path]
    assert schema_problem(schema) is not None


def test_misspelt_keyword_is_told_since_it_would_have_no_effect() -> None:
    (problem,) = read_schema({"type": "object", "propertys": {}}).problems
    assert problem.only_ignored
    assert problem.hint == "did you mean 'properties'?"


@pytest.mark.parametrize("schema", [{"x-order": 1}, {"pattern": r"\p{L}+"}, {"pattern": "(?<=a)b"}, {"$ref": "#name"}])
def test_what_is_out_of_the_ordinary_is_left_to_the_library(schema: dict[str, Any]) -> None:
    reading = read_schema(schema)
    assert reading.problems == []
    assert not reading.certain


KEYWORDS = [
    "type", "properties", "items", "required", "enum", "const", "minimum", "multipleOf", "minLength", "pattern",
    "anyOf", "not", "additionalProperties", "uniqueItems", "title", "format", "default", "$defs", "if", "prefixItems",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["string", "object", "x", "^a[0-9]$", "("])
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), SCHEMAS, max_size=4))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reading_that_is_certain_agrees_with_the_library(schema: dict[str, Any]) -> None:
    reading = read_schema(schema)
    if reading.problems:
        assert schema_problem(schema) is not None
    elif reading.certain:
        assert schema_problem(schema) is None
