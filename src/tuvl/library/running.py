"""One run of an `AgentLoop`: the collaborators of the tool loop, each made for this run only."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import field
from uuid import uuid4

from tuvl.agent.asking import Sampling
from tuvl.agent.assembly import Assembly, LoopPorts, LoopSettings, ModelCalls
from tuvl.agent.gates import Gates, OpenGates
from tuvl.agent.groups import paired
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.ports import Audit, ConversationSink
from tuvl.agent.transcript import Transcript
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.engine.result import Usage
from tuvl.events.types import Event, EventBody
from tuvl.library.definition import AgentDefinition
from tuvl.library.models import GuestModel, opened
from tuvl.library.ports import (
    GuestApprovals,
    GuestContinuation,
    GuestGates,
    GuestObserver,
    GuestReservation,
    GuestSurface,
    GuestToolReservation,
    GuestTrim,
)
from tuvl.library.result import AgentResult
from tuvl.library.tool import ToolContext
from tuvl.library.values import with_heartbeat
from tuvl.llm.messages import ChatModel, Message
from tuvl.llm.meter import Meter
from tuvl.plan.model import OutcomePlan
from tuvl.principal import Principal
from tuvl.tools.approval import StandingAnswer
from tuvl.tools.clearance import Clearance
from tuvl.tools.toolbox import Toolbox
from tuvl.tracing import current_ids

_log = logging.getLogger("tuvl.events")

_OUTPUT = "output"


@dataclass(kw_only=True)
class AgentRun:
    """What one run is given besides its definition."""

    definition: AgentDefinition
    control: RunControl
    principal: Principal
    audit: Audit | None = None
    conversation: ConversationSink | None = None
    listener: Callable[[Event], None] | None = None
    run_id: str = field(default_factory=lambda: uuid4().hex)
    _events: int = 0

    async def run(self, system: str, user: str) -> AgentResult:
        """Run to the end."""
        defined, meter = self.definition, Meter()
        transcript = Transcript(defined.name)
        quota = defined.tool_reservation
        bounds = Bounds(
            defined.limits,
            meter=meter,
            clock=defined.clock,
            around=(),
            reservation=None if quota is None else GuestToolReservation(quota),
        )
        async with opened(defined.model) as model:
            runner = self._runner(model, bounds, transcript)
            ended = await runner.run(system, user)
        return AgentResult(
            signal=ended.signal,
            output=ended.writes.get(_OUTPUT),
            error=ended.reason,
            usage=Usage.of(meter),
            turns=runner.iterations,
            messages=_whole(runner.history.messages) if runner.history else (),
            trace=tuple(transcript.entries),
        )

    def _runner(self, model: ChatModel, bounds: Bounds, transcript: Transcript) -> AgentStepRunner:
        defined = self.definition
        calls = ModelCalls(
            retry=defined.retry,
            timeout_s=defined.timeout_s,
            heartbeat_s=defined.heartbeat_s,
            clock=defined.clock,
            emit=self._emit,
            turn=lambda: runner.turn,
            meter=bounds.meter,
        )
        gates: Gates = OpenGates() if defined.gates is None else GuestGates(defined.gates)
        assembly = Assembly(
            settings=self._settings(),
            ports=self._ports(),
            toolbox=self._toolbox(gates),
            bounds=bounds,
            gates=gates,
            control=self.control,
            ledger=Ledger(transcript=transcript, audit=self.audit, conversation=self.conversation),
            clock=defined.clock,
            emit=self._emit,
        )
        summarises = None if defined.compaction is None else defined.compaction.model
        runner = assembly.runner(
            self._around(calls, model),
            summary_model=None if summarises is None else self._around(calls, GuestModel(summarises)),
        )
        return runner

    def _settings(self) -> LoopSettings:
        defined = self.definition
        return LoopSettings(
            outcome=OutcomePlan(write=_OUTPUT, enum=tuple(defined.outcomes), schema=defined.result_schema),
            sampling=Sampling(
                max_output_tokens=defined.max_output_tokens,
                temperature=defined.temperature,
                interruptible=defined.steer_mode == "interrupt",
            ),
            conclude=defined.conclude,
            compaction=None if defined.compaction is None else defined.compaction.plan,
            context_limits=defined.context_limits,
            max_continuations=defined.max_continuations,
            stream=defined.stream,
            withheld=defined.gates is not None,
        )

    def _ports(self) -> LoopPorts:
        surface, trim, more = self.definition.surface, self.definition.trim, self.definition.continuation
        return LoopPorts(
            surface=None if surface is None else GuestSurface(surface),
            trim=None if trim is None else GuestTrim(trim),
            continuation=None if more is None else GuestContinuation(more),
        )

    def _around(self, calls: ModelCalls, model: ChatModel) -> ChatModel:
        observer, reservation = self.definition.observer, self.definition.reservation
        return calls.around(
            model,
            observer=None if observer is None else GuestObserver(observer),
            reservation=None if reservation is None else GuestReservation(reservation),
        )

    def _toolbox(self, gates: Gates) -> Toolbox:
        defined, control = self.definition, self.control
        tools = defined.toolbox
        return Toolbox(
            tools.plans,
            dispatch=tools.dispatcher(ToolContext(principal=self.principal, abort=control.abort_signal)),
            merge=lambda _: None,
            policy=with_heartbeat(defined.policy, defined.heartbeat_s),
            gate=gates,
            control=control,
            clock=defined.clock,
            emit=self._emit,
            clearance=self._clearance(),
        )

    def _clearance(self) -> Clearance:
        approvals = self.definition.approvals
        return Clearance(
            run_id=self.run_id,
            step_id=self.definition.name,
            principal=self.principal,
            clock=self.definition.clock,
            emit=self._emit,
            approvals=StandingAnswer() if approvals is None else GuestApprovals(approvals),
        )

    def _emit(self, body: EventBody) -> None:
        if self.listener is None:
            return
        self._events += 1
        event = Event(
            run_id=self.run_id,
            seq=self._events,
            at=self.definition.clock.now(),
            step_id=self.definition.name,
            body=body,
            span=current_ids(),
        )
        try:
            self.listener(event)
        except Exception:  # noqa: BLE001 - a listener is a guest: whatever it raises, the run goes on without it
            _log.warning("the listener of run %r failed and gets no more events", self.run_id, exc_info=True)
            self.listener = None


def _whole(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation without a last turn whose calls were not all answered."""
    end = len(messages)
    if not paired(messages):
        end = max(index for index, message in enumerate(messages) if message.tool_calls)
    return tuple(messages[:end])
