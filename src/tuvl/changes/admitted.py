"""What a looser `spec.input` lets steps end on: a decision or an error that no input brought about before."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.context import keys_of_steps
from tuvl.analysis.key_reads import key_reads
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.schema_facts import part_of, required_of
from tuvl.analysis.signals import when_signals
from tuvl.analysis.steps import StepView, items, mapping
from tuvl.analysis.value_ranges import kind_of, known_by
from tuvl.changes.conditions import RAYS, as_float, holds
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.schema import Direction, schema_changes
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT, ERROR

_SIGNALS = frozenset({"true", "false", ERROR})
_COMBINED = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas")
_NODES = ("set", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Keys of the input that take more than they did, where no step writes them."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    lost: frozenset[str] = frozenset()
    """Keys that every input had, and that may be missing now."""
    wider: frozenset[str] = frozenset()
    """Keys that may have values that they could not have."""


def admitted(facts: tuple[WorkflowFacts, WorkflowFacts]) -> Admitted:
    """Compare what two states of a workflow take."""
    schemas = tuple(each.view.spec.get("input") for each in facts)
    old, new = mapping(schemas[0]), mapping(schemas[1])
    if not _is_looser(*schemas):
        return Admitted(old=old, new=new)
    written = keys_of_steps(facts[1].view, facts[1].index).known
    before, after = ObjectKeys(old), ObjectKeys(new)
    keys = (before.named | before.required | after.named) - written
    return Admitted(
        old=old,
        new=new,
        lost=(before.required - after.required) & keys,
        wider=frozenset(
            key for key in keys if not before.may_have(key) or _is_looser(part_of(old, (key,)), part_of(new, (key,)))
        ),
    )


def _is_looser(old: object, new: object) -> bool:
    changes = schema_changes(True if old is None else old, True if new is None else new)
    return any(change.direction in (Direction.LOOSER, Direction.UNDECIDED) for change in changes)


def let_through(found: Admitted, facts: WorkflowFacts, step: StepView) -> Iterator[tuple[str, bool]]:
    """Yield signals that the step can return by such values, and whether that only may be so."""
    if not found.lost and not found.wider:
        return
    reads = {read.key for read in key_reads(step, facts.index) if read.need != "never"}
    if reads & found.lost and _fails_by_input_alone(step):
        yield ERROR, False
    if step.kind != "Router" or not reads & (found.lost | found.wider):
        return
    if "when" in step.data:
        if reads & found.wider:
            yield from ((signal, True) for signal in (*when_signals(step), DEFAULT))
        return
    was, now = (_possible(step, schema) for schema in (found.old, found.new))
    if was is None or now is None:
        # What the schemas take cannot be reckoned, so nobody can tell how these values are decided.
        yield from ((signal, True) for signal in facts.graph.taken(step.id))
    else:
        yield from ((signal, False) for signal in sorted(now - was))


def _fails_by_input_alone(step: StepView) -> bool:
    """Whether nothing outside the context can make a step fail, so that its error said that a value was amiss."""
    return step.kind in ("Router", "Response") or (step.kind == "Functional" and step.data.get("runner") in _NODES)


# ---- what a decision comes to for the values that a schema takes ----------------------------------------------------


def _possible(step: StepView, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """Signals of a router that decides by one field; `None` where that cannot be reckoned."""
    condition = mapping(step.data.get("condition"))
    field = condition.get("field") or step.get("match", "field")
    path = tuple(field.split(".")) if isinstance(field, str) else ()
    part = part_of(schema, path)
    if any(keyword in mapping(each) for each in (schema, part) for keyword in _COMBINED):
        return None
    absent = set() if _is_there(schema, path) else {ERROR}
    if "match" in step.data:
        values = known_by(part).values
        named = step.routes.keys() - {ERROR} if values is None else {_signal(value) for value in values}
        return frozenset({*named, *([DEFAULT] if values is None else ()), *absent})
    if condition.get("operator") in ("is_empty", "is_not_empty"):
        return frozenset({"true", "false"})
    return frozenset(absent | _decided(condition, part))


def _is_there(schema: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether every value that a schema takes has something at a path."""
    return all(part in required_of(part_of(schema, path[:depth])) for depth, part in enumerate(path))


def _decided(condition: Mapping[str, Any], part: object) -> frozenset[str]:
    operator, bound, known = condition.get("operator"), condition.get("value"), known_by(part)
    if known.kinds is None or operator not in (*RAYS, "eq", "neq", "in"):
        return _SIGNALS
    wanted = {kind_of(each) for each in (items(bound) if operator == "in" else [bound])}
    fails = {ERROR} if known.kinds - wanted else set()
    values = known.values
    if values is None and known.is_number:
        values = tuple(_ends(mapping(part), bound))
    if values is None:
        return frozenset({"true", "false", *fails})
    return frozenset({holds(condition, value) for value in values if kind_of(value) in wanted} | fails)


def _ends(part: Mapping[str, Any], bound: object) -> list[Any]:
    """Numbers that stand for all that a schema takes: its bounds, and what lies at and beside the condition's value."""
    lowest = max(_number(part.get("minimum"), -math.inf), _beside(part.get("exclusiveMinimum"), math.inf, -math.inf))
    highest = min(_number(part.get("maximum"), math.inf), _beside(part.get("exclusiveMaximum"), -math.inf, math.inf))
    named = [_number(each, 0) for each in (items(bound) or [bound]) if kind_of(each) == "number"]
    near = [
        value for each in named for value in (each, math.nextafter(each, -math.inf), math.nextafter(each, math.inf))
    ]
    return [value for value in (lowest, highest, *near) if lowest <= value <= highest]


def _number(value: object, otherwise: float) -> float:
    return as_float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _beside(value: object, towards: float, otherwise: float) -> float:
    number = _number(value, otherwise)
    return number if number == otherwise else math.nextafter(number, towards)


def _signal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)
