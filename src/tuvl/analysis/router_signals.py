"""Which signals a router can return, as far as it is known what values it looks at."""

import json
from collections.abc import Iterator

from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.known_values import KnownValues
from tuvl.analysis.router_cases import signals_of_cases
from tuvl.analysis.schema_facts import part_of
from tuvl.analysis.steps import StepView, mapping
from tuvl.analysis.value_ranges import Decided, Known, compared, known_by, known_value, united
from tuvl.spec.signals import DEFAULT
from tuvl.templating.tree import Comparison
from tuvl.values import JsonValue, dump_json

_COMPARISONS: dict[str, Comparison] = {
    "eq": "==",
    "neq": "!=",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "in": "in",
}


class RouterSignals:
    """The routers of one workflow, with what is known of the values that they look at."""

    def __init__(self, flow: KeyFlow) -> None:
        self._values = KnownValues(flow)
        self._places = {place.step.id: place.index for place in flow.graph.places if not place.called}

    def may_be(self, step: StepView, signal: str) -> bool:
        """Whether a router can return a signal; it can where nobody knows better."""
        if step.id not in self._places:
            return True
        if "match" in step.data:
            return self._may_match(step, signal)
        if "when" in step.data:
            return signal in signals_of_cases(step, lambda path: self._known(step, path))
        return signal not in ("true", "false") or self._holds(step) is not (signal == "false")

    def listed(self, step: StepView) -> tuple[str, ...]:
        """The signals of a router that matches one of few values; empty for any other."""
        known = self._at(step, step.get("match", "field"))
        return tuple(map(_signal, known.values)) if known is not None and known.values is not None else ()

    def _at(self, step: StepView, field: object) -> Known | None:
        return self._known(step, tuple(field.split("."))) if isinstance(field, str) else None

    def _known(self, step: StepView, path: tuple[str, ...]) -> Known | None:
        """What is known of the value at a dotted path; a step that fails for want of it returns no signal by it."""
        place = self._places.get(step.id)  # none has a step that no run comes to
        held = None if place is None else self._values.at(place, path[0])
        return None if held is None else united(known_by(part_of(schema, path[1:])) for schema in held.schemas)

    def _may_match(self, step: StepView, signal: str) -> bool:
        known = self._at(step, step.get("match", "field"))
        if known is None:
            return True
        if signal == DEFAULT:
            return known.values is None or any(_signal(value) not in step.routes for value in known.values)
        return any(map(known.admits, _readings(signal)))

    def _holds(self, step: StepView) -> Decided:
        """Whether the condition of a router always holds, or never."""
        condition = mapping(step.data.get("condition"))
        known = self._at(step, condition.get("field"))
        operator, value = condition.get("operator"), known_value(condition.get("value"))
        if known is None or "value" not in condition:
            return None
        if operator == "contains":
            return compared("in", value, known)
        comparison = _COMPARISONS.get(operator) if isinstance(operator, str) else None
        if comparison is None or (comparison != "in" and not _compare(known, value)):
            return None
        return compared(comparison, known, value)


def _compare(left: Known, right: Known) -> bool:
    """Whether the two can be of one type; a router that compares others fails, which is told as such."""
    return left.kinds is None or right.kinds is None or bool(left.kinds & right.kinds)


def _signal(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _readings(signal: str) -> Iterator[JsonValue]:
    """The values that a router returns as this signal."""
    yield signal
    try:
        value = json.loads(signal)
    except (ValueError, RecursionError):
        return
    if not isinstance(value, str | list | dict) and dump_json(value) == signal:
        yield value
