"""Counts what an agent does, for the rules and the judge of a supervisor."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tuvl.agent.limits import Budget
from tuvl.supervision.rules import LoopFacts
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall


class LoopWatch:
    """The counts of one execution of one agent."""

    def __init__(self, tools: Iterable[str], budgets: Sequence[Budget]) -> None:
        self._calls: Counter[str] = Counter(dict.fromkeys(tools, 0))
        self._budgets = budgets
        self._idle = 0
        self._failed_calls = 0
        self._seen: set[int] = set()

    def called(self, tool: str) -> None:
        """Count a call; of a name that is no tool of the agent nothing is kept."""
        if tool in self._calls:
            self._calls[tool] += 1

    def turn_ended(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        """Look at what a turn brought.

        It brought something new when one of its calls did not fail, and its tool, arguments and result together have
        not been seen before. Text beside the calls, and an answer that was not accepted, bring nothing.
        """
        fresh = False
        for call, observation in zip(calls, observations, strict=True):
            self._failed_calls += observation.failed
            if observation.failed or observation.duplicate:
                continue
            seen = hash((call.key, observation.content))
            fresh = fresh or seen not in self._seen
            self._seen.add(seen)
        self._idle = 0 if fresh else self._idle + 1

    def facts(self, iterations: int) -> LoopFacts:
        """Return the counts as they are, after so many model calls."""
        return LoopFacts(
            iterations=iterations, calls=dict(self._calls), budget_used=self._budget_used(), idle=self._idle
        )

    @property
    def failed_calls(self) -> int:
        """Calls that failed, in turns that have ended."""
        return self._failed_calls

    def _budget_used(self) -> float | None:
        parts = [
            used / most
            for budget in self._budgets
            for used, most in (
                (budget.meter.total_tokens, budget.max_tokens),
                (budget.meter.priced_cost_usd, budget.max_cost_usd),
            )
            if most
        ]
        return max(parts, default=None)
