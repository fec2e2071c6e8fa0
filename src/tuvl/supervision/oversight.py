"""The supervisor of one run: looks at each agent it watches between its turns and before its calls, and steps in."""

from collections.abc import Sequence
from dataclasses import field
from functools import partial

from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.ports import Overseer
from tuvl.agent.recorded import once
from tuvl.control import ControlSource, Intervention
from tuvl.data.run_rows import InterventionRow
from tuvl.dataclass import dataclass
from tuvl.journal import NO_JOURNAL, Journal
from tuvl.plan.model import AgentPlan, ExecutionPlan
from tuvl.plan.supervisor import SupervisorPlan
from tuvl.spec.base import Reaction
from tuvl.steps.agent_gates import recorded_judge
from tuvl.steps.base import StepScope
from tuvl.supervision.judge import LoopJudge
from tuvl.supervision.rules import Spoken, speaking
from tuvl.supervision.watching import LoopWatch
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import JsonObject, JsonValue


def oversight_of(plan: ExecutionPlan, journal: Journal = NO_JOURNAL) -> "RunOversight | None":
    """Return what watches one run of a workflow; `None` when nothing does."""
    return None if plan.supervisor is None else RunOversight(plan.supervisor, journal)


@dataclass(slots=True)
class RunOversight:
    """What the agents of one run share: each rule speaks once in it, whichever of them it is about."""

    plan: SupervisorPlan
    journal: Journal
    silent: dict[int, None] = field(init=False)
    """Positions of the rules that have not spoken yet."""

    def __post_init__(self) -> None:
        self.silent = dict.fromkeys(range(len(self.plan.rules)))

    def is_silent(self, index: int, place: str) -> bool:
        """Tell whether a rule may speak about the agent at a place of the record.

        In a run that goes on, one that is known to have spoken says it again where it did, and nowhere else.
        """
        return index in self.silent and self.journal.known(_spoken(index)) in (None, place)

    async def said(self, index: int, place: str) -> None:
        """Put on record that a rule has spoken, and about which agent."""

        async def spoke() -> JsonValue:
            return place

        await self.journal.record(_spoken(index), spoke)

    def of_agent(self, scope: StepScope, bounds: Bounds, ledger: Ledger) -> Overseer | None:
        """Return who watches one execution of an agent; `None` for an agent that is not watched.

        Raises `ConfigError` for a judge whose model cannot be made.
        """
        agent = scope.step.action
        if scope.step.id not in self.plan.watches or not isinstance(agent, AgentPlan):
            return None
        return AgentOverseer(self, agent, scope, bounds, ledger)


class AgentOverseer:
    """Watches one execution of one agent."""

    def __init__(self, run: RunOversight, agent: AgentPlan, scope: StepScope, bounds: Bounds, ledger: Ledger) -> None:
        self._run = run
        self._agent = agent
        self._scope = scope
        self._bounds = bounds
        self._ledger = ledger
        self._control = scope.services.control
        self._watch = LoopWatch([tool.ref for tool in agent.tools], bounds.budgets)
        self._journal = scope.services.journal
        self._unkept: list[InterventionRow] = []
        self._spoken: list[int] = []
        services, plan = scope.services, run.plan.judge
        self._judge = (
            None
            if plan is None
            else LoopJudge.of(
                plan,
                recorded_judge(scope, plan.model),
                timeout_s=services.settings.agent_judge_timeout_s,
                bounds=bounds,
                ledger=ledger,
                clock=services.clock,
            )
        )

    @property
    def _iterations(self) -> int:
        return self._ledger.transcript.turn

    async def before_turn(self, turn: int) -> None:
        """Let the rules speak, then ask the judge, when it is due."""
        await self._act([self._intervention(spoken) for spoken in self._speaking()])
        if self._judge is not None and self._judge.is_due(self._iterations):
            await self._ask(self._judge)

    async def before_call(self, tool: str) -> None:
        """Let the rules speak that can hold a call up, and count it. A steer is read between turns, and said then."""
        # Nothing is awaited between the two, so that of calls that run together each sees those before it.
        spoken = self._speaking(but="steer")
        self._watch.called(tool)
        if spoken:
            await self._act([self._intervention(each) for each in spoken])

    def turn_ended(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        """Count what the turn brought."""
        self._watch.turn_ended(calls, observations)

    async def ended(self) -> None:
        """Put on record what an abort has left unwritten."""
        await self._write()

    def _speaking(self, *, but: Reaction | None = None) -> list[Spoken]:
        rules, silent, place = self._run.plan.rules, self._run.silent, self._journal.place
        listening = [
            (index, rules[index]) for index in silent if rules[index].then != but and self._run.is_silent(index, place)
        ]
        if not listening:
            return []
        found = speaking(listening, self._watch.facts(self._iterations))
        for spoken in found:
            del silent[spoken.index]
            self._spoken.append(spoken.index)
        return found

    async def _ask(self, judge: LoopJudge) -> None:
        await self._control.park()  # nobody is paid to look at a run that is paused
        self._control.raise_if_aborted()
        objection = await judge.look(self._told())
        if objection is not None:
            await self._act([self._said(objection.action, "judge", judge.model.name, objection.reason)])

    def _told(self) -> JsonObject:
        """What the judge is told: counts, bounds and the names of the agent's tools, and nothing else."""
        facts, limits, meter = self._watch.facts(self._iterations), self._agent.limits, self._bounds.meter
        return {
            "iterations": facts.iterations,
            "max_iterations": limits.max_iterations,
            "tool_calls": dict(facts.calls),
            "failed_tool_calls": self._watch.failed_calls,
            "turns_without_progress": facts.idle,
            "tokens_used": meter.total_tokens,
            "token_budget": limits.token_budget,
            "cost_usd": meter.cost_usd,
            "cost_budget_usd": limits.cost_budget_usd,
        }

    def _intervention(self, spoken: Spoken) -> Intervention:
        rule = spoken.rule
        return self._said(rule.then, "rule", f"rules[{spoken.index}] {rule.when}", spoken.reason)

    def _said(self, action: Reaction, source: ControlSource, by: str, reason: str) -> Intervention:
        return Intervention(
            action=action,
            source=source,
            by=by,
            reason=reason,
            step_id=self._scope.place,
            iteration=self._iterations,
        )

    async def _act(self, interventions: Sequence[Intervention]) -> None:
        """Step in, at once and all in one go, and put it on record.

        A durable run that goes on comes by here again. What it did before is told again, and steers are said again; a
        pause that was ended is none any more.
        """
        pauses = [name for said in interventions if (name := self._step_in(said)) is not None]
        # After an abort that waits for the end: it cancels what is in flight.
        if interventions and not self._control.aborted:
            await self._write()
        if pauses and self._journal.keeps:
            await self._control.park()
            self._control.raise_if_aborted()
            for name in pauses:
                await self._journal.record(name, _ended)

    def _step_in(self, said: Intervention) -> str | None:
        """Do one thing; returns the name under which the end of a pause is recorded."""
        message = self._run.plan.steer_message if said.action == "steer" else ""
        if said.action == "abort":
            message = f"aborted by the supervisor ({said.by}): {said.reason}"
        self._ledger.intervened(said, message)
        self._unkept.append(InterventionRow.of(said, message, at=self._scope.services.clock.now()))
        name = self._journal.numbered("pause") if said.action == "pause" else None
        if name is None or self._journal.known(name) is None:
            self._control.intervene(said, message)
        return name

    async def _write(self) -> None:
        while self._spoken:
            await self._run.said(self._spoken[0], self._journal.place)
            self._spoken.pop(0)
        records = self._scope.services.records
        while self._unkept and records is not None:
            row = self._unkept[0]
            # One that is written twice is kept once; of a run that goes on it is not written again.
            await once(self._journal, "intervention", partial(records.intervention, row))
            self._unkept.pop(0)


def _spoken(index: int) -> str:
    return f"rule.{index}"


async def _ended() -> JsonValue:
    return True
