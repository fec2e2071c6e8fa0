"""The bounds of one agent run, and which of them is crossed.

Budgets are reported in a fixed order when several are crossed at once: tokens, cost, wall clock. The bounds of the
whole run count as budgets of every agent in it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tuvl.agent.exits import BudgetExceeded
from tuvl.agent.ports import ToolReservation
from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.plan.model import AgentLimits, RunLimits
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens and US dollars that may be used in all, and the meter that counts them; `None` is off.

    What a run starts inside itself spends from the budgets around it, too. `tokens_field` and `cost_field` are how
    the author set the bounds.
    """

    meter: Meter
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    tokens_field: str = "limits.max_tokens"
    cost_field: str = "limits.max_cost_usd"

    @classmethod
    def of_run(cls, limits: RunLimits, meter: Meter) -> "Budget":
        """Return the budget of a whole run."""
        return cls(
            meter=meter,
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            tokens_field=limits.max_tokens_field,
            cost_field=limits.max_cost_field,
        )


class Bounds:
    """Counts what one agent run uses against what it may use."""

    def __init__(
        self,
        limits: AgentLimits,
        run_limits: RunLimits,
        *,
        meter: Meter,
        run_meter: Meter,
        clock: Clock,
        outer: Sequence[Budget] = (),
        reservation: ToolReservation | None = None,
    ) -> None:
        self._reservation = reservation
        self.limits = limits
        self.meter = meter
        own = Budget(
            meter=meter,
            max_tokens=limits.token_budget,
            max_cost_usd=limits.cost_budget_usd,
            tokens_field="token_budget",
            cost_field="cost_budget_usd",
        )
        self.budgets: tuple[Budget, ...] = (own, Budget.of_run(run_limits, run_meter), *outer)
        """The agent's own budget, its run's, and those that the run was started within."""
        self._clock = clock
        self._started = clock.monotonic()
        self._calls = 0
        self._failed_turns = 0
        self._repeats: Counter[int] = Counter()

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
        """Test every budget before a model call; raises `BudgetExceeded`."""
        for budget in self.budgets:
            _check(budget.tokens_field, budget.max_tokens, budget.meter.total_tokens)
        for budget in self.budgets:
            _check(budget.cost_field, budget.max_cost_usd, budget.meter.priced_cost_usd)
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
            async with asyncio.timeout(bound) as deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise BudgetExceeded("max_wall_clock_s", bound=bound) from None


def _check(limit: str, bound: float | None, used: float) -> None:
    if bound is not None and used >= bound:
        raise BudgetExceeded(limit, bound=bound, used=used)
