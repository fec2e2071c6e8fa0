"""Two JSON Schemas: what is taken no longer is told, at any depth; what nobody can tell is called so."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.changes import schema
from tuvl.changes.schema import Direction, schema_changes

T, L, U, A, N = Direction.TIGHTER, Direction.LOOSER, Direction.UNDECIDED, Direction.ADDED, Direction.NOTE
TEXT: dict[str, Any] = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> dict[str, Any]:
    return {**obj(**properties), "additionalProperties": False}


CASES: list[tuple[str, Any, Any, list[Direction]]] = [
    ("required", obj(a=TEXT), {**obj(a=TEXT), "required": ["a"]}, [T]),
    ("type narrowed", {"type": ["string", "null"]}, TEXT, [T]),
    ("number to integer", {"type": "number"}, {"type": "integer"}, [T]),
    ("type swapped", TEXT, {"type": "integer"}, [T, L]),
    ("enum shrunk", {"enum": ["a", "b"]}, {"enum": ["a"]}, [T]),
    ("enum out of nothing", TEXT, {"enum": ["a"]}, [T]),
    ("const", {"enum": ["a", "b"]}, {"const": "a"}, [T]),
    ("one is one", {"enum": [1]}, {"enum": [1.0]}, []),
    ("minimum", {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 2}, [T]),
    ("the same end", {"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}, []),
    ("not the same end", {"type": "number", "minimum": 0}, {"type": "number", "exclusiveMinimum": 0}, [T]),
    ("maxLength", TEXT, {**TEXT, "maxLength": 5}, [T]),
    ("maxLength of a number", {"type": "integer"}, {"type": "integer", "maxLength": 5}, []),
    ("multipleOf", {"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 4}, [T]),
    ("multipleOf, neither", {"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}, [U]),
    ("pattern is new", TEXT, {**TEXT, "pattern": "^a"}, [T]),
    ("pattern", {**TEXT, "pattern": "^a"}, {**TEXT, "pattern": "^b"}, [U]),
    ("format", TEXT, {**TEXT, "format": "date"}, [U]),
    ("closed", obj(a=TEXT), closed(a=TEXT), [T]),
    ("closed by unevaluated", obj(a=TEXT), {**obj(a=TEXT), "unevaluatedProperties": False}, [T]),
    ("property gone from a closed one", closed(a=TEXT, b=TEXT), closed(a=TEXT), [T]),
    ("property gone from an open one", obj(a=TEXT, b=TEXT), obj(a=TEXT), [L]),
    ("optional property, open", obj(a=TEXT), obj(a=TEXT, b=TEXT), [A]),
    ("optional property, closed", closed(a=TEXT), closed(a=TEXT, b=TEXT), [L]),
    (
        "deep",
        obj(a={"type": "array", "items": obj(b=TEXT)}),
        obj(a={"type": "array", "items": obj(b={"const": "x"})}),
        [T],
    ),
    ("items", {"type": "array"}, {"type": "array", "items": TEXT}, [T]),
    ("prefixItems", {"prefixItems": [TEXT]}, {"prefixItems": [TEXT, TEXT]}, [T]),
    ("uniqueItems", {"type": "array"}, {"type": "array", "uniqueItems": True}, [T]),
    ("nothing at all", {}, False, [T]),
    ("schema is gone", TEXT, True, [L]),
    ("anyOf of types", {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["null", "string"]}, []),
    ("anyOf fewer", {"anyOf": [obj(a=TEXT), {"type": "null"}]}, {"anyOf": [{"type": "null"}]}, [T]),
    ("anyOf more", {"anyOf": [TEXT]}, {"anyOf": [TEXT, {"type": "null"}]}, [L]),
    ("allOf more", {"allOf": [TEXT]}, {"allOf": [TEXT, {"minLength": 2}]}, [T]),
    ("not", {}, {"not": TEXT}, [U]),
    ("if", {}, {"if": TEXT, "then": False}, [U, U]),
    ("unknown keyword", {}, {"x-limit": 1}, [U]),
    ("words", {"title": "a"}, {"title": "b"}, [N]),
    ("order of keys", {"type": "string", "maxLength": 1}, {"maxLength": 1, "type": "string"}, []),
]


@pytest.mark.parametrize(("old", "new", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_difference_has_its_direction(old: Any, new: Any, expected: list[Direction]) -> None:
    found = [change.direction for change in schema_changes(old, new)]
    if expected == [T, L] or expected == [U, U]:
        assert set(found) == set(expected)
    else:
        assert found == expected


NUMBER: dict[str, Any] = {"type": "number", "minimum": 0}
CHOICE: dict[str, Any] = {"type": "string", "enum": ["a", "b"]}
EQUAL: list[tuple[str, Any, Any]] = [
    ("allOf taken apart", NUMBER, {"allOf": [{"type": "number"}, {"minimum": 0}]}),
    ("allOf in allOf", NUMBER, {"allOf": [{"allOf": [{"type": "number"}]}, {"minimum": -1}, {"minimum": 0}]}),
    ("constants", CHOICE, {"anyOf": [{"const": "a"}, {"const": "b", "description": "B"}]}),
    ("one constant of several", CHOICE, {"oneOf": [{"type": "string", "const": "b"}, {"enum": ["a"]}]}),
    ("type beside values", CHOICE, {"enum": ["b", "a"]}),
    ("values of another type", CHOICE, {"type": "string", "enum": ["a", "b", 1]}),
    ("one of one", TEXT, {"anyOf": [{"oneOf": [{"allOf": [TEXT]}]}]}),
    ("reference beside words", {"$ref": "#/$defs/a", "description": "x", "$defs": {"a": TEXT}}, TEXT),
    ("reference beside a bound", {"$ref": "#/$defs/a", "maxLength": 3, "$defs": {"a": TEXT}}, {**TEXT, "maxLength": 3}),
    ("null", {"const": None}, {"type": "null"}),
    ("boolean", {"enum": [True, False]}, {"type": "boolean"}),
    ("bounds that bound nothing", {**TEXT, "minLength": 0, "pattern": ".*"}, TEXT),
    ("bound of another type", {"type": "integer", "maxLength": 5}, {"type": "integer"}),
    ("whole numbers", {"type": "number", "multipleOf": 1}, {"type": "integer"}),
    ("required makes one", {**obj(a=TEXT), "required": ["a"], "minProperties": 1}, {**obj(a=TEXT), "required": ["a"]}),
    ("objects merged", {"allOf": [obj(a=TEXT), obj(b=NUMBER)]}, obj(a=TEXT, b=NUMBER)),
    ("closed objects merged", {"allOf": [obj(a=TEXT, b=NUMBER), closed(a=TEXT)]}, closed(a=TEXT)),
    ("alternatives in another order", {"anyOf": [obj(a=TEXT), NUMBER]}, {"anyOf": [NUMBER, obj(a={"allOf": [TEXT]})]}),
    (
        "values beside a reference",
        {"const": 1, "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}},
        {"enum": [1], "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}},
    ),
    ("every type", {}, {"type": ["string", "number", "boolean", "object", "array", "null"]}),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in EQUAL], ids=[case[0] for case in EQUAL])
def test_schema_that_takes_the_same_differs_in_words_at_most(old: Any, new: Any) -> None:
    for one, other in ((old, new), (new, old)):
        assert {change.direction for change in schema_changes(one, other)} <= {N}
        inside = schema_changes(obj(deep={"type": "array", "items": one}), obj(deep={"type": "array", "items": other}))
        if "$ref" not in str(old):
            assert {change.direction for change in inside} <= {N}


CERTAIN: list[tuple[str, Any, Any, list[tuple[Direction, bool]]]] = [
    ("null too", TEXT, {"anyOf": [TEXT, {"type": "null"}]}, [(L, False)]),
    ("an object or null", obj(a=TEXT), {"anyOf": [obj(a=TEXT), {"type": "null"}]}, [(L, False)]),
    ("bound beside alternatives", {"anyOf": [{"minimum": 5}, {"maximum": -5}], "type": "number"},
     {"anyOf": [{"minimum": 5}, {"maximum": -5}], "type": "number", "minimum": -9}, [(T, True)]),
    ("what a list leaves", {"enum": [1, 2]}, {"type": "integer", "maximum": 3}, [(L, False)]),
    ("what a bound refuses", {"enum": [1, 5]}, {"type": "integer", "maximum": 3}, [(T, False), (L, False)]),
    ("property known by pattern", {"type": "object", "patternProperties": {"^a": TEXT}},
     {"type": "object", "patternProperties": {"^a": TEXT}, "properties": {"ab": TEXT}}, [(A, False)]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [case[1:] for case in CERTAIN], ids=[case[0] for case in CERTAIN])
def test_what_is_certain_is_certain_and_the_rest_may_be(
    old: Any, new: Any, expected: list[tuple[Direction, bool]]
) -> None:
    assert [(change.direction, change.may) for change in schema_changes(old, new)] == expected


MIRROR = {T: {L}, L: {T, A}, U: {U}, A: {L}, N: {N}}


@pytest.mark.parametrize(("old", "new"), [case[1:3] for case in CASES], ids=[case[0] for case in CASES])
def test_turned_round_it_has_the_other_direction(old: Any, new: Any) -> None:
    there, back = schema_changes(old, new), schema_changes(new, old)
    directions = {change.direction for change in there}
    assert all({change.direction for change in back} & MIRROR[one] for one in directions - {L})
    assert bool(there) == bool(back)


def test_references_are_followed_and_recursion_ends() -> None:
    old = {"$ref": "#/$defs/tree", "$defs": {"tree": obj(left={"$ref": "#/$defs/tree"}, name=TEXT)}}
    new = {"$ref": "#/$defs/tree", "$defs": {"tree": obj(left={"$ref": "#/$defs/tree"}, name={"const": "x"})}}
    (change,) = schema_changes(old, new)
    assert change.direction is T
    assert change.where == "name"
    assert change.new_path == ("$defs", "tree", "properties", "name", "const")
    assert schema_changes(old, old) == []


def test_reference_written_out_is_the_same() -> None:
    old = obj(a={"$ref": "#/$defs/text"}) | {"$defs": {"text": TEXT}}
    assert schema_changes(old, obj(a=TEXT)) == []


def test_reference_that_leads_nowhere_is_undecided() -> None:
    assert [change.direction for change in schema_changes({"$ref": "#/no"}, {"$ref": "#/nothing"})] == [U]


def test_schema_without_end_is_undecided_in_bounded_time() -> None:
    old: dict[str, Any] = {"anyOf": [{"anyOf": [{"$ref": "#"}, {"minLength": n}]} for n in range(12)]}
    new: dict[str, Any] = {"anyOf": [{"anyOf": [{"$ref": "#"}, {"minLength": n + 1}]} for n in range(12)]}
    assert schema_changes(old, new)
    deep_old: Any = TEXT
    deep_new: Any = {"type": "integer"}
    for _ in range(400):
        deep_old, deep_new = obj(a=deep_old), obj(a=deep_new)
    assert [change.direction for change in schema_changes(deep_old, deep_new)] == [U]


# ---- soundness: whoever passed before and does not now, of them something is said -----------------------------------

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, 2.5]), st.text("ab", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=5,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null"])
KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
    "enum": st.lists(SCALARS, min_size=1, max_size=3),
    "const": SCALARS,
    "minimum": st.integers(-2, 2),
    "maximum": st.integers(-2, 2),
    "exclusiveMinimum": st.sampled_from([-1, 0, 0.5]),
    "exclusiveMaximum": st.sampled_from([0, 1, 1.5]),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "minLength": st.integers(0, 2),
    "maxLength": st.integers(0, 2),
    "pattern": st.sampled_from(["^a", "b$"]),
    "minItems": st.integers(0, 2),
    "maxItems": st.integers(0, 2),
    "uniqueItems": st.booleans(),
    "minProperties": st.integers(0, 2),
    "maxProperties": st.integers(0, 2),
    "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    "description": st.text("xy", max_size=2),
}


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    below: dict[str, st.SearchStrategy[Any]] = {
        "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
    }
    return st.fixed_dictionaries({}, optional={**KEYWORDS, **below}).map(_few)


def _few(schema: dict[str, Any]) -> dict[str, Any]:
    return dict(list(schema.items())[:4])


SCHEMAS = st.recursive(
    st.one_of(st.booleans(), st.fixed_dictionaries({}, optional=KEYWORDS).map(_few)), schemas, max_leaves=5
)
ROOTS = st.tuples(SCHEMAS, SCHEMAS, SCHEMAS).map(
    lambda each: (
        (each[0] if isinstance(each[0], dict) else {"allOf": [each[0]]}) | {"$defs": {"one": each[1], "two": each[2]}}
    )
)


@settings(max_examples=100, deadline=None)
@given(old=ROOTS, new=ROOTS, values=st.lists(VALUES, min_size=4, max_size=8))
def test_value_that_no_longer_passes_is_told(old: dict[str, Any], new: dict[str, Any], values: list[Any]) -> None:
    before, after = jsonschema_rs.validator_for(old), jsonschema_rs.validator_for(new)
    lost = [value for value in values if before.is_valid(value) and not after.is_valid(value)]
    if lost:
        directions = {change.direction for change in schema_changes(old, new)}
        assert directions & {T, U, A}, lost


@settings(max_examples=50, deadline=None)
@given(schema=ROOTS)
def test_schema_is_the_same_as_itself(schema: dict[str, Any]) -> None:
    assert schema_changes(schema, schema) == []


def tree(*more: dict[str, Any], op: dict[str, Any] | None = None) -> dict[str, Any]:
    """An expression: a number, two of them with an operator, or a list of them."""
    inner = {"$ref": "#/$defs/e"}
    pair = {
        "type": "object",
        "properties": {"op": op or {"type": "string"}, "l": inner, "r": inner},
        "required": ["op", "l", "r"],
        "additionalProperties": False,
    }
    branches = [{"type": "number"}, pair, {"type": "array", "items": inner}, *more]
    return {"properties": {"a": inner}, "$defs": {"e": {"anyOf": branches}}}


def beside(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "properties": {**schema["properties"], "more": {"type": "string"}}}


def said_of(old: object, new: object) -> set[Direction]:
    return {change.direction for change in schema_changes(old, new)}


def test_schema_that_refers_to_itself_is_the_same_as_itself() -> None:
    assert said_of(tree(), tree()) == set()
    renamed = json.loads(json.dumps(tree()).replace("$defs/e", "$defs/z").replace('"e":', '"z":'))
    assert said_of(tree(), renamed) == set()
    turned = tree()
    turned["$defs"]["e"]["anyOf"].reverse()
    assert said_of(tree(), turned) == set()
    assert said_of(tree(), beside(tree())) == {Direction.ADDED}


def test_difference_inside_a_schema_that_refers_to_itself_has_its_direction() -> None:
    short = tree(op={"type": "string", "maxLength": 3})
    assert said_of(tree(), short) == {Direction.TIGHTER}
    assert said_of(short, tree()) == {Direction.LOOSER}
    assert said_of(tree(), tree({"type": "boolean"})) == {Direction.LOOSER}
    assert said_of(tree({"type": "boolean"}), tree()) == {Direction.TIGHTER}
    # Only what it refers to differs: the words of the branch itself are the same.
    lists = [{"properties": {"a": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"items": {"$ref": "#/$defs/i"}}, "i": item}}
             for item in ({"type": "string"}, {"type": "string", "maxLength": 1})]  # fmt: skip
    assert said_of(*lists) == {Direction.TIGHTER}


def shared(depth: int, last: dict[str, Any]) -> dict[str, Any]:
    """Definitions of which each is used twice by the one before."""
    found: dict[str, Any] = {
        f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}, {"items": {"$ref": f"#/$defs/d{number + 1}"}}]}
        for number in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**found, f"d{depth}": last}}


@pytest.mark.parametrize("depth", [14, 40, 200])
def test_pairs_of_shared_definitions_are_compared_once(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    compare = schema._Comparison.compare
    monkeypatch.setattr(schema._Comparison, "compare", lambda self, *sides: counted.append(1) or compare(self, *sides))
    assert said_of(shared(depth, {"type": "string"}), shared(depth, {"type": "string"})) == set()
    assert len(counted) <= 5
    assert said_of(shared(depth, {"type": "string"}), shared(depth, {"type": "string", "maxLength": 3}))
    assert len(counted) <= 200 * depth
