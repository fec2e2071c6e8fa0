"""Which signals a step may return now in place of those that it returned: how a decision moved."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tuvl.analysis.signals import FAILURES, TIMEOUT
from tuvl.analysis.steps import StepView, mapping
from tuvl.changes.conditions import OTHER, RAYS, holds, is_number
from tuvl.changes.facts import WorkflowFacts
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT
from tuvl.values import canonical

_EMPTY = ("is_empty", "is_not_empty")


@dataclass(frozen=True, slots=True)
class Move:
    """What ended on one of `old` may end on `new`; `may` where nobody can tell from the files.

    Without any of `old` it is a new way to end: before, the run waited there, or did not come so far.
    """

    old: tuple[str, ...]
    new: str
    may: bool = False
    sooner: tuple[str, str] | None = None
    """Seconds before and after, where the signal is the same and comes sooner than a person may answer."""


def moves(
    facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, *, revalued: bool = False
) -> Iterator[Move]:
    """Yield how the signals of one step moved, each that stayed included.

    One that is `revalued` decides by values of another origin, so that any of its decisions may be another.
    """
    was, now = _signals(facts[0], before), _signals(facts[1], after)
    decided = [signal for signal in now if signal not in FAILURES]
    earlier = tuple(signal for signal in was if signal not in FAILURES)
    pairs = [] if revalued else _redecided(before, after)
    possible = facts[0].graph.signals.get(before.id)
    for signal in now:
        if pairs is not None and signal in decided:
            continue
        if possible is None or possible.may_be(signal):
            yield Move((signal,), signal)
        else:
            yield Move(() if _waited(before, signal) else earlier, signal)
    yield from _sooner(before, after)
    if pairs is not None:
        sure = pairs or [(old, new) for old in earlier for new in decided]
        for old, new in sure:
            yield Move((old,), new, may=not pairs)


def _waited(before: StepView, signal: str) -> bool:
    """Whether a step waited, however long, where it can return this signal now."""
    return before.kind == "HumanInTheLoop" and signal == TIMEOUT


def _sooner(before: StepView, after: StepView) -> Iterator[Move]:
    """A question that is given up sooner than it was: an answer that would have come in time does not."""
    was, now = (step.data.get("timeout_s") for step in (before, after))
    if before.kind != "HumanInTheLoop" or after.kind != "HumanInTheLoop" or isinstance(was, bool):
        return
    if isinstance(was, int | float) and isinstance(now, int | float) and now < was:
        yield Move((), TIMEOUT, sooner=(f"{was} s", f"{now} s"))


def lead(facts: WorkflowFacts, step: StepView, signal: str) -> str | None:
    """Where a signal leads; a value that no route of a router names is its `default`."""
    taken = facts.graph.taken(step.id) if step.id in facts.graph.signals else {}
    if "match" in step.data and signal not in taken and signal not in FAILURES:
        signal = DEFAULT
    return taken.get(signal)


def _signals(facts: WorkflowFacts, step: StepView) -> tuple[str, ...]:
    possible = facts.graph.signals.get(step.id)
    known = sorted(possible.known) if possible is not None else []
    return tuple(dict.fromkeys((*known, *(facts.graph.taken(step.id) if possible is not None else ()))))


def _redecided(before: StepView, after: StepView) -> list[tuple[str, str]] | None:
    """Pairs of signals where a decision is another one; none where anything may be, `None` where it is the same."""
    if before.kind == after.kind == "HumanInTheLoop":
        return None if before.data.get("signal_from") == after.data.get("signal_from") else []
    if before.kind != "Router" or after.kind != "Router":
        return None
    was, now = (
        {key: step.data.get(key) for key in ("condition", "match", "when") if key in step.data}
        for step in (before, after)
    )
    if canonical(was) == canonical(now):
        return None
    if was.keys() == now.keys() == {"condition"}:
        return _moved(mapping(was["condition"]), mapping(now["condition"])) or []
    return []


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Pairs of signals of every kind of value there is; `None` where it cannot be reckoned."""
    if old.get("field") != new.get("field"):
        return None
    operators = (old.get("operator"), new.get("operator"))
    if all(each in _EMPTY for each in operators):
        turned = operators[0] != operators[1]
        return [("true", "false" if turned else "true"), ("false", "true" if turned else "false")]
    values = _samples(old, new)
    if values is None:
        return None
    found = {(holds(old, value), holds(new, value)) for value in values}
    return sorted(found)


def _samples(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[object] | None:
    named: list[object] = []
    for condition in (old, new):
        value = condition.get("value")
        match condition.get("operator"):
            case "gt" | "gte" | "lt" | "lte" if is_number(value):
                named.append(value)
            case "eq" | "neq" if not isinstance(value, list | dict) and "{{" not in str(value):
                named.append(value)
            case "in" if isinstance(value, list) and "{{" not in str(value):
                named.extend(value)
            case _:
                return None
    if any(each.get("operator") in RAYS for each in (old, new)):
        numbers = [value for value in named if isinstance(value, int | float) and not isinstance(value, bool)]
        if len(numbers) != len(named):
            return None
        ends = sorted(set(numbers))
        between = [(one + other) / 2 for one, other in pairwise(ends)]
        return [ends[0] - 1, *ends, *between, ends[-1] + 1]
    return [*named, OTHER]
