"""One run of an `AgentLoop`: the collaborators of the tool loop, each made for this run only."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from tuvl.agent.asking import Asker, Sampling
from tuvl.agent.closing import Closing
from tuvl.agent.compaction import Compactor
from tuvl.agent.conclude import Conclusion
from tuvl.agent.gates import Gates, OpenGates
from tuvl.agent.groups import paired
from tuvl.agent.guarded_model import HeartbeatModel, ObservedModel, ReservedModel
from tuvl.agent.history import Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.offer import Offer
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.ports import Audit, ConversationSink
from tuvl.agent.streaming import ReplyStream
from tuvl.agent.summary import Summarizer
from tuvl.agent.transcript import Transcript
from tuvl.control import RunControl
from tuvl.engine.result import Usage
from tuvl.events.types import Event, EventBody, Heartbeat, ModelCallStarted
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
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.model import OutcomePlan, RunLimits
from tuvl.principal import Principal
from tuvl.tools.approval import StandingAnswer
from tuvl.tools.clearance import Clearance
from tuvl.tools.toolbox import Toolbox

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
    _turn: Callable[[], int] = field(default=lambda: 0)

    async def run(self, system: str, user: str) -> AgentResult:
        """Run to the end."""
        defined, meter = self.definition, Meter()
        transcript = Transcript(defined.name)
        quota = defined.tool_reservation
        bounds = Bounds(
            defined.limits,
            RunLimits(),
            meter=meter,
            run_meter=meter,
            clock=defined.clock,
            reservation=None if quota is None else GuestToolReservation(quota),
        )
        async with opened(defined.model) as model:
            runner = self._runner(self._around(model), bounds, transcript)
            self._turn = lambda: runner.turn
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
        defined, control, clock = self.definition, self.control, self.definition.clock
        gates: Gates = OpenGates() if defined.gates is None else GuestGates(defined.gates)
        tools = defined.toolbox
        conclusion = None
        if defined.conclude is not None:
            conclusion = Conclusion(plan=defined.conclude, max_iterations=defined.limits.max_iterations, clock=clock)
        toolbox = Toolbox(
            tools.plans,
            dispatch=tools.dispatcher(ToolContext(principal=self.principal, abort=control.abort_signal)),
            merge=lambda _: None,
            policy=with_heartbeat(defined.policy, defined.heartbeat_s),
            gate=gates,
            control=control,
            clock=clock,
            emit=self._emit,
            clearance=self._clearance(),
        )
        ledger = Ledger(transcript=transcript, audit=self.audit, conversation=self.conversation)
        stream = self._stream(ledger)
        surface = None if defined.surface is None else GuestSurface(defined.surface)
        return AgentStepRunner(
            asker=Asker(
                model=model if stream is None else stream.around(model),
                toolbox=toolbox,
                offer=Offer(declared=tools.names, surface=surface, conclusion=conclusion),
                bounds=bounds,
                control=control,
                ledger=ledger,
                clock=clock,
                sampling=Sampling(
                    max_output_tokens=defined.max_output_tokens,
                    temperature=defined.temperature,
                    interruptible=defined.steer_mode == "interrupt",
                ),
            ),
            toolbox=toolbox,
            bounds=bounds,
            closing=self._closing(gates),
            gates=gates,
            control=control,
            ledger=ledger,
            emit=self._emit if stream is None else stream.events(),
            preparation=Preparation(
                compactor=self._compactor(model, bounds, transcript),
                conclusion=conclusion,
                trim=None if defined.trim is None else GuestTrim(defined.trim),
                limits=defined.context_limits,
            ),
        )

    def _closing(self, gates: Gates) -> Closing:
        defined = self.definition
        more = defined.continuation
        return Closing(
            contract=OutcomeContract(
                plan=OutcomePlan(write=_OUTPUT, enum=tuple(defined.outcomes), schema=defined.result_schema)
            ),
            gates=gates,
            retries_left=defined.limits.answer_retries,
            continuation=None if more is None else GuestContinuation(more),
            continuations_left=0 if more is None else defined.max_continuations,
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

    def _around(self, model: ChatModel) -> ChatModel:
        """Put around the model what the loop asks for: a veto for each attempt, the rest around all attempts."""
        defined = self.definition
        if defined.observer is not None:
            model = ObservedModel(inner=model, observer=GuestObserver(defined.observer))
        model = RetryingModel(
            model, defined.retry, timeout_s=defined.timeout_s, clock=defined.clock, on_attempt=self._attempted
        )
        if defined.reservation is not None:
            model = ReservedModel(inner=model, reservation=GuestReservation(defined.reservation))
        if defined.heartbeat_s is not None:
            model = HeartbeatModel(inner=model, every_s=defined.heartbeat_s, beat=self._beat, clock=defined.clock)
        return model

    def _stream(self, ledger: Ledger) -> ReplyStream | None:
        """Return where the pieces of replies go, the conversation included; text that gates must see is held back."""
        if not self.definition.stream:
            return None
        stream = ReplyStream(
            emit=self._emit,
            turn=lambda: self._turn(),
            transcript=ledger.transcript,
            withheld=self.definition.gates is not None,
        )
        ledger.conversation = stream.storing(ledger.conversation)
        return stream

    def _compactor(self, model: ChatModel, bounds: Bounds, transcript: Transcript) -> Compactor | None:
        defined = self.definition
        if defined.compaction is None:
            return None
        if defined.compaction.model is not None:
            model = self._around(GuestModel(defined.compaction.model))
            bounds.require_price(model)
        summarizer = Summarizer(
            model=model,
            bounds=bounds,
            transcript=transcript,
            clock=defined.clock,
            max_output_tokens=defined.max_output_tokens,
        )
        return Compactor(plan=defined.compaction.plan, summarize=summarizer)

    def _attempted(self, attempt: int) -> None:
        self._emit(ModelCallStarted(iteration=self._turn(), attempt=attempt))

    def _beat(self, elapsed_s: float) -> None:
        self._emit(Heartbeat(iteration=self._turn(), activity="model", elapsed_s=elapsed_s))

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
