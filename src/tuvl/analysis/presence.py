"""Which context keys are certainly there once a router has left by a signal: those without which it would not do so."""

from collections.abc import Iterator, Mapping
from functools import partial

from tuvl.analysis.router_cases import signals_of_cases
from tuvl.analysis.signals import ENDS_CLEANLY
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.value_ranges import NOTHING, Known
from tuvl.spec.signals import DEFAULT
from tuvl.templating.scan import scan

MOST_KEYS = 50
"""Keys of one router that are looked at; each is held against all its cases."""

_BY_ITS_ABSENCE = {"is_empty": "true", "is_not_empty": "false"}
"""Operator → what it gives where there is nothing."""


def shown_present(step: StepView) -> Mapping[str, frozenset[str]]:
    """Signal of a router → keys that are there wherever it leaves by that."""
    if step.kind != "Router":
        return {}
    shown: dict[str, set[str]] = {}
    for key, without in _without(step):
        for signal in _decided(step) - without - ENDS_CLEANLY:
            shown.setdefault(signal, set()).add(key)
    return {signal: frozenset(keys) for signal, keys in shown.items()}


def _decided(step: StepView) -> set[str]:
    """The signals by which it says how it decided."""
    if "when" in step.data:
        return {text(mapping(case).get("signal")) or DEFAULT for case in items(step.data.get("when"))} | {DEFAULT}
    return {"true", "false"}


def _without(step: StepView) -> Iterator[tuple[str, set[str]]]:
    """Keys that it looks at, and the signals that it can give where they are not there."""
    if "when" in step.data:
        tests = (mapping(case).get("if") for case in items(step.data.get("when")))
        names = dict.fromkeys(name for test in tests if isinstance(test, str) for name in sorted(scan(test).names))
        for name in list(names)[:MOST_KEYS]:
            yield name, signals_of_cases(step, partial(_missing, name))
    else:
        field, operator = text(step.get("condition", "field")), step.get("condition", "operator")
        if field and isinstance(operator, str) and operator in _BY_ITS_ABSENCE:
            yield field.split(".")[0], {_BY_ITS_ABSENCE[operator]}


def _missing(name: str, path: tuple[str, ...]) -> Known | None:
    return NOTHING if path[0] == name else None
