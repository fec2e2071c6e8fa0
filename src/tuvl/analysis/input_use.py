"""Uses of input keys that cannot work with the type `spec.input` gives them."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.schema_facts import part_of, takes_others, types_of
from tuvl.analysis.steps import StepView, items, mapping
from tuvl.suggest import closest
from tuvl.templating.scan import scan
from tuvl.values import JsonValue

_HAS_PARTS = frozenset({"object", "array"})
_ORDERED = ("gt", "gte", "lt", "lte")
_NUMBERS = frozenset({"integer", "number"})


def input_mismatches(flow: KeyFlow) -> Iterator[Fault]:
    """Every use that fails whatever the input is; keys that a step writes too are left out."""
    yield from _unsatisfiable(flow)
    own = {
        name: schema
        for name, schema in mapping(flow.input.schema.get("properties")).items()
        if not flow.written & flow.graph.keys.bit(name)
    }
    if not own:
        return
    for place in flow.graph.places:
        if place.called:
            continue
        for read in place.reads:
            if read.key in own and read.need == "always":
                yield from _read(read, place.step, own[read.key])
        yield from _list_wanted(place, own)
        yield from _comparison(place.step, own)


def _unsatisfiable(flow: KeyFlow) -> Iterator[Fault]:
    for index, name in enumerate(items(flow.input.schema.get("required"))):
        if isinstance(name, str) and not flow.input.may_have(name):
            yield Fault(
                ("spec", "input", "required", index),
                f"no input fits: {name!r} is required, and the schema lets no input have it",
                f"add {name!r} to `properties`, or correct the name",
            )


def _read(read: KeyRead, step: StepView, schema: object) -> Iterator[Fault]:
    """A dotted path into a value that has no parts, or not this one."""
    for depth in range(1, len(read.path)):
        parent, part = part_of(schema, read.path[1:depth]), read.path[depth]
        types = types_of(parent)
        if types is None:
            return
        shown = ".".join(read.path[:depth])
        if not types & _HAS_PARTS and not ("string" in types and part.lstrip("-").isdecimal()):
            yield _fault(read, step, f"but {shown!r} is {_said(types)} by `spec.input`, which has no {part!r}")
            return
        if types == {"array"} and not part.isdecimal():
            yield _fault(read, step, f"but {shown!r} is an array by `spec.input`, which has no {part!r}")
            return
        known = mapping(mapping(parent).get("properties"))
        if types == {"object"} and part not in known and not takes_others(parent):
            near = closest(part, known)
            hint = f"did you mean {near!r}?" if near else f"name {part!r} in the schema, or correct the path"
            yield _fault(read, step, f"but {shown!r} has no {part!r} by `spec.input`", hint)
            return


def _fault(read: KeyRead, step: StepView, why: str, hint: str | None = None) -> Fault:
    message = f"step {step.id!r} reads {'.'.join(read.path)!r} in `{read.field}`, {why}"
    return Fault(read.place, message, hint or "correct the path, or the type in `spec.input`")


def _list_wanted(place: Place, own: Mapping[str, object]) -> Iterator[Fault]:
    source = place.step.data.get("items")
    if place.step.kind != "ForEach" or not isinstance(source, str):
        return
    found = scan(source)
    if not found.single_expression or len(found.paths) != 1 or "|" in source or not found.certain:
        return
    path = found.paths[0]
    types = types_of(part_of(own[path[0]], path[1:])) if path[0] in own else None
    if types is not None and "array" not in types and _is_path(source, path):
        yield Fault(
            (*place.step.path, "items"),
            f"step {place.step.id!r} goes through {'.'.join(path)!r}, {_said(types)} by `spec.input` and not a list",
            "give a list, or correct the type in `spec.input`",
        )


def _is_path(source: str, path: tuple[str, ...]) -> bool:
    return source.strip().removeprefix("{{").removesuffix("}}").strip() == ".".join(path)


def _comparison(step: StepView, own: Mapping[str, object]) -> Iterator[Fault]:
    if step.kind != "Router" or not isinstance(step.data.get("condition"), dict):
        return
    field, operator, value = (step.get("condition", name) for name in ("field", "operator", "value"))
    if not isinstance(field, str) or field.split(".")[0] not in own:
        return
    key, *path = field.split(".")
    types = types_of(part_of(own[key], path))
    if types is None:
        return
    why = _incomparable(types, operator, value)
    if why:
        yield Fault(
            (*step.path, "condition", "value"),
            f"step {step.id!r} compares {field!r}, {_said(types)} by `spec.input`, {why}",
            "compare values of one type, or correct the type in `spec.input`",
        )


def _incomparable(types: frozenset[str], operator: JsonValue, value: JsonValue) -> str | None:
    kinds = _kinds(types)
    if operator in _ORDERED and not kinds & {"number", "string"}:
        return f"by {operator!r}, which is for numbers and texts"
    if operator in (*_ORDERED, "eq", "neq") and _kind(value) not in kinds:
        return f"with {_article(_kind(value))}; that always fails"
    if operator == "contains" and not kinds & {"string", "array", "object"}:
        return "by 'contains', which is for texts, lists and mappings"
    if operator == "in" and isinstance(value, list) and value and not kinds & {_kind(item) for item in value}:
        return f"with values of which none is {_said(types)}; that always fails"
    return None


def _kinds(types: frozenset[str]) -> frozenset[str]:
    return frozenset("number" if name in _NUMBERS else name for name in types)


def _kind(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"


def _said(types: frozenset[str]) -> str:
    return " or ".join(_article(name) for name in sorted(types))


def _article(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
