"""The bounds of one agent run, and which of them is crossed.

Budgets are reported in a fixed order when several are crossed at once: tokens, cost, wall clock. The bounds of the
whole run count as budgets of every agent in it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

from tuvl.agent.exits import BudgetExceeded
from tuvl.agent.ports import ToolReservation
from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.journal import NO_JOURNAL, Journal
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentLimits, RunLimits
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens and US dollars that may be used in all, and the meter that counts them; `None` is off.

    What a run starts inside itself spends from the budgets around it, too. `tokens_field` and `cost_field` are how
    the author set the bounds.
    """

    meter: Meter
    ahead: Callable[[], Sequence[JsonObject]] = tuple
    """What a run that goes on has on record and has not counted yet: it was spent all the same."""
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    tokens_field: str = "limits.max_tokens"
    cost_field: str = "limits.max_cost_usd"

    @classmethod
    def of_run(cls, limits: RunLimits, meter: Meter, journal: Journal = NO_JOURNAL) -> "Budget":
        """Return the budget of a whole run, which is on record in `journal`."""
        return cls(
            meter=meter,
            ahead=journal.ahead,
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            tokens_field=limits.max_tokens_field,
            cost_field=limits.max_cost_field,
        )

    def check_tokens(self) -> None:
        """Raise `BudgetExceeded` when no tokens are left."""
        if self.max_tokens is not None:
            used = self.meter.total_tokens + sum(cast(int, spent["total_tokens"]) for spent in self.ahead())
            _check(self.tokens_field, self.max_tokens, used)

    def check_cost(self) -> None:
        """Raise `BudgetExceeded` when no dollars are left."""
        if self.max_cost_usd is not None:
            used = self.meter.priced_cost_usd + sum(cast(float, spent["priced_cost_usd"]) for spent in self.ahead())
            _check(self.cost_field, self.max_cost_usd, used)


class Bounds:
    """Counts what one agent run uses against what it may use."""

    def __init__(
        self,
        limits: AgentLimits,
        *,
        meter: Meter,
        clock: Clock,
        around: Sequence[Budget],
        journal: Journal = NO_JOURNAL,
        on_record: Callable[[], bool] = lambda: False,
        reservation: ToolReservation | None = None,
    ) -> None:
        """Wire it; `around` are the budgets of the run, innermost first; `journal` is the agent's part of its record.

        `on_record` tells whether the next call of the agent's model is on record: what was permitted is not refused.
        """
        self._reservation = reservation
        self._on_record = on_record
        self.limits = limits
        self.meter = meter
        own = Budget(
            meter=meter,
            ahead=journal.ahead,
            max_tokens=limits.token_budget,
            max_cost_usd=limits.cost_budget_usd,
            tokens_field="token_budget",
            cost_field="cost_budget_usd",
        )
        self.budgets: tuple[Budget, ...] = (own, *around)
        """The agent's own budget, its run's, and those that the run was started within."""
        self._clock = clock
        self._started = clock.monotonic()
        self._lasted_s = journal.lasted_s()
        self._calls = 0
        self._failed_turns = 0
        self._repeats: Counter[int] = Counter()

    @property
    def calls(self) -> int:
        """Tool calls that the agent has made."""
        return self._calls

    def require_price(self, model: ChatModel) -> None:
        """Refuse a cost bound that could never trip, before the first call."""
        capped = any(budget.max_cost_usd is not None for budget in self.budgets)
        if capped and model.price is None:
            raise StepError(
                f"a cost bound is set, but the price of model {model.name!r} is unknown; give its preset a `price:`",
                type="unpriced_model",
                detail={"model": model.name},
            )

    def check_turn_start(self) -> None:
        """Test every budget before a model call that is not on record; raises `BudgetExceeded`."""
        if self._on_record():
            return
        for budget in self.budgets:
            budget.check_tokens()
        for budget in self.budgets:
            budget.check_cost()
        _check("max_wall_clock_s", self.limits.max_wall_clock_s, self._clock.monotonic() - self._started)

    def check_after_call(self) -> None:
        """Test the budgets right after a reply, where `budget_check: after_call` asks for it."""
        if self.limits.budget_check == "after_call":
            self.check_turn_start()

    async def reserve_calls(self, calls: Sequence[RequestedCall]) -> None:
        """Take a reply's calls, all or none, before any of them runs; an outside quota is asked last."""
        asked, per_turn, total = len(calls), self.limits.max_calls_per_turn, self.limits.max_tool_calls
        if per_turn is not None and asked > per_turn:
            raise StepError(
                f"one reply asked for {asked} tool calls; max_calls_per_turn is {per_turn}",
                type="calls_per_turn",
                detail={"limit": "max_calls_per_turn", "bound": per_turn, "asked": asked},
            )
        if total is not None and self._calls + asked > total:
            raise BudgetExceeded("max_tool_calls", bound=total, used=self._calls, asked=asked)
        self._calls += asked
        for _ in calls:
            self.meter.count_tool_call()
        if self._reservation is not None:
            await self._reservation.reserve(asked)

    def check_results(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        """Look at a turn's results: too many failing turns in a row, or one call repeated without effect."""
        self._check_streak(observations)
        self._check_repeats(calls, observations)

    def _check_streak(self, observations: Sequence[Observation]) -> None:
        run = [observation for observation in observations if not observation.duplicate]
        failed = bool(run) and all(observation.failed for observation in run)
        self._failed_turns = self._failed_turns + 1 if failed else 0
        bound = self.limits.max_consecutive_tool_failures
        if bound is not None and self._failed_turns >= bound:
            raise StepError(
                f"every tool call failed in {self._failed_turns} turns in a row",
                type="tool_failures",
                detail={"limit": "max_consecutive_tool_failures", "bound": bound},
            )

    def _check_repeats(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        bound = self.limits.max_repeated_calls
        if bound is None:
            return
        for call, observation in zip(calls, observations, strict=True):
            if observation.duplicate:
                continue
            same = hash((call.key, observation.content))
            self._repeats[same] += 1
            if self._repeats[same] >= bound:
                raise StepError(
                    f"tool {call.name!r} was called with the same arguments and gave the same result:"
                    f" max_repeated_calls: {bound} reached",
                    type="repeated_calls",
                    detail={"limit": "max_repeated_calls", "bound": bound, "tool": call.name},
                )

    @asynccontextmanager
    async def wall_clock(self) -> AsyncIterator[None]:
        """Hold the block to `max_wall_clock_s`, pauses included: what is in flight then is cancelled."""
        bound = self.limits.max_wall_clock_s
        if bound is None:
            yield
            return
        try:
            async with asyncio.timeout(max(0.0, bound - self._lasted_s)) as deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise BudgetExceeded("max_wall_clock_s", bound=bound) from None


def _check(limit: str, bound: float | None, used: float) -> None:
    if bound is not None and used >= bound:
        raise BudgetExceeded(limit, bound=bound, used=used)
