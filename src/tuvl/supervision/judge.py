"""The judge of a supervisor: a model that is told counts and names of tools, and never a value of the run."""

import logging
from dataclasses import field
from typing import assert_never

from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.errors import ModelError
from tuvl.guardrails.guard import JudgeCall, Post, Verdict
from tuvl.guardrails.guards.llm_judge import RAISED, RETRY, judge_request, read_judgement
from tuvl.llm.messages import ChatModel, Usage
from tuvl.llm.meter import Meter
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.supervisor import JudgePlan
from tuvl.spec.base import Reaction
from tuvl.values import JsonObject, dump_json

_log = logging.getLogger("tuvl.supervision")

POST = Post(artifact="supervisor", site="turns")
"""Where trace and audit say that the judge stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What the judge's answer, or its silence, is to bring about."""

    action: Reaction
    reason: str


@dataclass(slots=True)
class LoopJudge:
    """The judge of one execution of one agent. What it uses is the agent's use."""

    plan: JudgePlan
    model: ChatModel
    bounds: Bounds
    ledger: Ledger
    clock: Clock
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        # A meter below the agent's, so that the estimate of the agent's long history is not begun anew.
        self.meter = Meter(parent=self.bounds.meter)

    @classmethod
    def of(
        cls, plan: JudgePlan, model: ChatModel, *, timeout_s: float, bounds: Bounds, ledger: Ledger, clock: Clock
    ) -> "LoopJudge":
        """Make a judge that is asked for at most `timeout_s` an attempt; raises `StepError` for an unknown price."""
        bounds.require_price(model)
        asked = RetryingModel(model, RETRY, timeout_s=timeout_s, clock=clock, meter=Meter(parent=bounds.meter))
        return cls(plan, asked, bounds, ledger, clock)

    def is_due(self, iterations: int) -> bool:
        """Tell whether the judge looks after so many turns."""
        return iterations > 0 and iterations % self.plan.every_n_iterations == 0

    async def look(self, told: JsonObject) -> Objection | None:
        """Ask about the counts; raises `StepError` when a budget is used up by that, or the call cannot be kept."""
        started = self.clock.monotonic()
        request = judge_request(self.plan.criteria, dump_json(told))
        try:
            reply = await self.model.complete(request)
        except ModelError as error:
            await self._tell("unanswered", started, error_type=error.type)
            return self._unanswered(error)
        usage = self.meter.count_reply(request, reply, self.model.price)
        verdict = read_judgement(reply).verdict
        await self._tell(verdict, started, usage=usage)
        self.bounds.check_after_call()
        match verdict:
            case "passed":
                return None
            case "refused":
                return Objection(action=self.plan.on_violation, reason="the judge objects")
            case "unreadable":
                return Objection(action=self.plan.on_violation, reason="the judge's verdict cannot be read")
            case _:
                assert_never(verdict)

    def _unanswered(self, error: ModelError) -> Objection | None:
        if error.type in RAISED:
            raise error
        reaction = self.plan.on_judge_error
        if reaction == "ignore":
            _log.warning(
                "judge %r could not be asked (%s); the run goes on: on_judge_error is ignore",
                self.model.name,
                error.type,
            )
            return None
        return Objection(action=reaction, reason=f"the judge could not be asked ({error.type})")

    async def _tell(
        self, verdict: Verdict, started: float, *, usage: Usage | None = None, error_type: str | None = None
    ) -> None:
        duration_ms = (self.clock.monotonic() - started) * 1000
        await self.ledger.judged(
            JudgeCall(
                post=POST,
                model=self.model.name,
                verdict=verdict,
                duration_ms=duration_ms,
                usage=usage,
                error_type=error_type,
            )
        )
