"""When the rules of a supervisor speak: pure, over counts of one agent's loop."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import assert_never

from tuvl.dataclass import dataclass
from tuvl.spec.supervisor import BudgetFraction, IterationReached, NoProgress, SupervisorRule, ToolRepeated
from tuvl.values import number_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFacts:
    """What an agent has done in this execution of it."""

    iterations: int = 0
    """Model calls that were answered."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """Calls by tool, of its declared tools only: those that ran, and those that were refused or not repeated."""
    budget_used: float | None = None
    """The part of a token or cost budget that is used, of the budget of which most is; `None` without a budget."""
    idle: int = 0
    """Turns in a row, up to the last that ended, that brought nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A rule that speaks: its position in the file, and what it saw."""

    index: int
    rule: SupervisorRule
    reason: str


def speaking(rules: Iterable[tuple[int, SupervisorRule]], facts: LoopFacts) -> list[Spoken]:
    """Return those of the rules whose condition holds, in their order."""
    found = ((index, rule, met(rule, facts)) for index, rule in rules)
    return [Spoken(index=index, rule=rule, reason=reason) for index, rule, reason in found if reason is not None]


def met(rule: SupervisorRule, facts: LoopFacts) -> str | None:
    """Say why a rule's condition holds; `None` when it does not."""
    match rule:
        case IterationReached(gte=least):
            return f"iteration {facts.iterations} reached (gte: {least})" if facts.iterations >= least else None
        case ToolRepeated(tool=tool, count=least):
            return _repeated(facts.calls if tool is None else {tool: facts.calls.get(tool, 0)}, least)
        case BudgetFraction(gt=part):
            if facts.budget_used is None or facts.budget_used <= part:
                return None
            return f"{facts.budget_used:.0%} of a budget used (gt: {number_text(part)})"
        case NoProgress(count=least):
            return f"{facts.idle} turns in a row brought nothing new (count: {least})" if facts.idle >= least else None
        case _:
            assert_never(rule)


def _repeated(calls: Mapping[str, int], least: int) -> str | None:
    for tool, count in calls.items():
        if count >= least:
            return f"tool {tool!r} called {count} times (count: {least})"
    return None
