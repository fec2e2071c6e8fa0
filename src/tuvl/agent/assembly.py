"""One run of the loop, put together: the only place that knows which part goes where, for files and Python alike."""

from collections.abc import Callable
from dataclasses import field

from tuvl.agent.asking import Asker, Sampling
from tuvl.agent.closing import Closing
from tuvl.agent.compaction import Compactor
from tuvl.agent.conclude import Conclusion
from tuvl.agent.gates import Gates
from tuvl.agent.guarded_model import HeartbeatModel, ObservedModel, ReservedModel
from tuvl.agent.history import Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.loop import AgentStepRunner
from tuvl.agent.offer import Offer
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.ports import Continuation, Overseer, RequestObserver, Surface, Trim, WorkReservation
from tuvl.agent.steering import RecordedSteers
from tuvl.agent.streaming import ReplyStream
from tuvl.agent.summary import Summarizer
from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.events.types import EventBody, Heartbeat, ModelCallDelayed, ModelCallStarted
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.model import CompactionPlan, ConcludePlan, ContextLimits, OutcomePlan, RetryPlan
from tuvl.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalls:
    """What is done around each model call of a run; `turn` gives the number of the turn it is in."""

    retry: RetryPlan
    timeout_s: float
    heartbeat_s: float | None
    clock: Clock
    emit: Callable[[EventBody], None]
    turn: Callable[[], int]
    meter: Meter
    """Counts the attempts that gave no reply."""

    def around(
        self, model: ChatModel, *, observer: RequestObserver | None = None, reservation: WorkReservation | None = None
    ) -> ChatModel:
        """Put it around a model: a veto for each attempt, signs of life over all of them, the reservation outermost.

        A reservation that takes its time is no call in flight, so nothing beats for it.
        """
        if observer is not None:
            model = ObservedModel(inner=model, observer=observer)
        model = RetryingModel(
            model,
            self.retry,
            timeout_s=self.timeout_s,
            clock=self.clock,
            on_attempt=self._attempted,
            on_wait=self._delayed,
            meter=self.meter,
        )
        if self.heartbeat_s is not None:
            model = HeartbeatModel(inner=model, every_s=self.heartbeat_s, beat=self._beat, clock=self.clock)
        return model if reservation is None else ReservedModel(inner=model, reservation=reservation)

    def _attempted(self, attempt: int) -> None:
        self.emit(ModelCallStarted(iteration=self.turn(), attempt=attempt))

    def _delayed(self, wait_s: float) -> None:
        self.emit(ModelCallDelayed(iteration=self.turn(), wait_s=wait_s))

    def _beat(self, elapsed_s: float) -> None:
        self.emit(Heartbeat(iteration=self.turn(), activity="model", elapsed_s=elapsed_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What shapes a loop beside its bounds, whoever says so; `None` is off."""

    outcome: OutcomePlan
    sampling: Sampling
    conclude: ConcludePlan | None = None
    compaction: CompactionPlan | None = None
    context_limits: ContextLimits | None = None
    max_continuations: int = 3
    stream: bool = False
    withheld: bool = False
    """Whether a guard must see the text whole before anybody does, so that its pieces are not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPorts:
    """What is plugged into a loop; each is asked where `tuvl.agent.ports` says."""

    surface: Surface | None = None
    trim: Trim | None = None
    continuation: Continuation | None = None
    overseer: Overseer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Everything one run of the loop is made of."""

    settings: LoopSettings
    ports: LoopPorts = field(default_factory=LoopPorts)
    toolbox: Toolbox
    bounds: Bounds
    gates: Gates
    control: RunControl
    ledger: Ledger
    clock: Clock
    emit: Callable[[EventBody], None]
    steers: RecordedSteers | None = None
    """What the run is told, by its record; `None` takes it from the control."""

    def runner(self, model: ChatModel, *, summary_model: ChatModel | None = None) -> AgentStepRunner:
        """Return the loop around a model; another one may make the summaries.

        Raises `StepError` for a bound on cost that the price of the other model is unknown for.
        """
        settings, ledger = self.settings, self.ledger
        stream = self._stream(lambda: runner.turn) if settings.stream else None
        if stream is not None:
            ledger.conversation = stream.storing(ledger.conversation)
        conclusion = self._conclusion()
        runner = AgentStepRunner(
            asker=Asker(
                model=model if stream is None else stream.around(model),
                toolbox=self.toolbox,
                offer=Offer(declared=self.toolbox.declared, surface=self.ports.surface, conclusion=conclusion),
                bounds=self.bounds,
                control=self.control,
                ledger=ledger,
                clock=self.clock,
                sampling=settings.sampling,
                steers=self.steers,
            ),
            toolbox=self.toolbox,
            bounds=self.bounds,
            closing=self._closing(),
            gates=self.gates,
            control=self.control,
            ledger=ledger,
            emit=self.emit if stream is None else stream.events(),
            preparation=Preparation(
                compactor=self._compactor(model, summary_model),
                conclusion=conclusion,
                trim=self.ports.trim,
                limits=settings.context_limits,
            ),
            overseer=self.ports.overseer,
            steers=self.steers,
        )
        return runner

    def _stream(self, turn: Callable[[], int]) -> ReplyStream:
        transcript, withheld = self.ledger.transcript, self.settings.withheld
        return ReplyStream(emit=self.emit, turn=turn, transcript=transcript, withheld=withheld)

    def _conclusion(self) -> Conclusion | None:
        plan, most = self.settings.conclude, self.bounds.limits.max_iterations
        return None if plan is None else Conclusion(plan=plan, max_iterations=most, clock=self.clock)

    def _compactor(self, model: ChatModel, summary_model: ChatModel | None) -> Compactor | None:
        plan = self.settings.compaction
        if plan is None:
            return None
        if summary_model is not None:
            self.bounds.require_price(summary_model)
        summarizer = Summarizer(
            model=summary_model or model,
            bounds=self.bounds,
            ledger=self.ledger,
            clock=self.clock,
            max_output_tokens=self.settings.sampling.max_output_tokens,
        )
        return Compactor(plan=plan, summarize=summarizer)

    def _closing(self) -> Closing:
        more = self.ports.continuation
        return Closing(
            contract=OutcomeContract(plan=self.settings.outcome),
            gates=self.gates,
            retries_left=self.bounds.limits.answer_retries,
            continuation=more,
            continuations_left=0 if more is None else self.settings.max_continuations,
        )
