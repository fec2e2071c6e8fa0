"""The parts of one agent run that its fields ask for, put together: model, history, tools offered, continuation."""

from collections.abc import Callable
from dataclasses import dataclass

from tuvl.agent.closing import Closing
from tuvl.agent.compaction import Compactor
from tuvl.agent.conclude import Conclusion
from tuvl.agent.gates import Gates
from tuvl.agent.guarded_model import HeartbeatModel, ObservedModel, ReservedModel
from tuvl.agent.history import Preparation
from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds
from tuvl.agent.offer import Offer
from tuvl.agent.outcome import OutcomeContract
from tuvl.agent.streaming import ReplyStream
from tuvl.agent.summary import Summarizer
from tuvl.agent.transcript import Transcript
from tuvl.events.types import EventBody, Heartbeat, ModelCallStarted
from tuvl.llm.messages import ChatModel
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.model import AgentPlan, ModelPlan
from tuvl.steps.agent_nodes import (
    HelperNode,
    NodeContinuation,
    NodeObserver,
    NodeReservation,
    NodeSurface,
    NodeTrim,
)
from tuvl.steps.base import StepScope
from tuvl.tools.clearance import Clearance
from tuvl.tools.toolbox import ToolPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentParts:
    """Makes the parts of one run; `turn` gives its number of turns so far."""

    agent: AgentPlan
    scope: StepScope
    bounds: Bounds
    emit: Callable[[EventBody], None]
    turn: Callable[[], int]

    def model(self, plan: ModelPlan | None = None) -> ChatModel:
        """Return a model, the agent's unless another is named, with all that is done around each of its calls."""
        agent, services = self.agent, self.scope.services
        plan = plan or agent.model
        reserve = agent.reserve
        model = services.model_for(plan)
        if reserve is not None and reserve.observe_request is not None:
            node = self._node(reserve.observe_request, "reserve.observe_request")
            model = ObservedModel(inner=model, observer=NodeObserver(node=node, model=plan.name))
        model = RetryingModel(
            model, agent.retry, timeout_s=agent.timeout_s, clock=services.clock, on_attempt=self._attempted
        )
        if agent.heartbeat_s is not None:
            model = HeartbeatModel(inner=model, every_s=agent.heartbeat_s, beat=self._beat, clock=services.clock)
        if reserve is None:
            return model
        refund = None if reserve.refund is None else self._node(reserve.refund, "reserve.refund")
        reservation = NodeReservation(
            reserve_node=self._node(reserve.reserve, "reserve.reserve"), refund_node=refund, model=plan.name
        )
        return ReservedModel(inner=model, reservation=reservation)

    def stream(self, ledger: Ledger) -> ReplyStream | None:
        """Return where the pieces of replies go, the conversation of this ledger included; `None` when not asked."""
        if not self.agent.stream:
            return None
        withheld = bool(self.agent.guardrails.output)
        stream = ReplyStream(emit=self.emit, turn=self.turn, transcript=ledger.transcript, withheld=withheld)
        ledger.conversation = stream.storing(ledger.conversation)
        return stream

    def preparation(self, transcript: Transcript, model: ChatModel) -> Preparation:
        """Return what is done to the history before each call."""
        agent, clock = self.agent, self.scope.services.clock
        conclusion = None
        if agent.conclude is not None:
            conclusion = Conclusion(plan=agent.conclude, max_iterations=agent.limits.max_iterations, clock=clock)
        trim = None if agent.trim is None else NodeTrim(node=self._node(agent.trim, "trim"))
        return Preparation(
            compactor=self._compactor(transcript, model), conclusion=conclusion, trim=trim, limits=agent.context_limits
        )

    def _compactor(self, transcript: Transcript, model: ChatModel) -> Compactor | None:
        plan = self.agent.compaction
        if plan is None:
            return None
        if plan.model is not None and plan.model.name != self.agent.model.name:
            model = self.model(plan.model)
            self.bounds.require_price(model)
        summarizer = Summarizer(
            model=model,
            bounds=self.bounds,
            transcript=transcript,
            clock=self.scope.services.clock,
            max_output_tokens=self.agent.max_output_tokens,
        )
        return Compactor(plan=plan, summarize=summarizer)

    def offer(self, preparation: Preparation) -> Offer:
        """Return which tools each turn offers."""
        agent = self.agent
        surface = None
        if agent.tool_surface is not None:
            surface = NodeSurface(node=self._node(agent.tool_surface, "tool_surface"))
        declared = tuple(tool.ref for tool in agent.tools)
        return Offer(declared=declared, surface=surface, conclusion=preparation.conclusion)

    def closing(self, gates: Gates) -> Closing:
        """Return the judge of final answers."""
        agent = self.agent
        continuation = None
        if agent.continue_on_stop is not None:
            continuation = NodeContinuation(node=self._node(agent.continue_on_stop, "continue_on_stop"))
        return Closing(
            contract=OutcomeContract(plan=agent.outcome),
            gates=gates,
            retries_left=agent.limits.answer_retries,
            continuation=continuation,
            continuations_left=agent.max_continuations,
        )

    def tool_policy(self) -> ToolPolicy:
        """Return how the agent's tool calls are treated."""
        agent = self.agent
        return ToolPolicy(
            on_error=agent.tool_error_policy,
            arg_validation=agent.arg_validation,
            dedup_within_turn=agent.dedup_within_turn,
            default_timeout_s=self.scope.services.settings.agent_tool_timeout_s,
            concurrency=agent.tool_concurrency,
            heartbeat_s=agent.heartbeat_s,
        )

    def clearance(self) -> Clearance:
        """Return who and what a call needs before it runs."""
        services = self.scope.services
        return Clearance(
            run_id=services.run_id,
            step_id=self.scope.place,
            principal=services.principal,
            clock=services.clock,
            emit=self.emit,
            approvals=services.approvals,
            values=services.current_values,
        )

    def _node(self, step: str, field: str) -> HelperNode:
        return HelperNode(services=self.scope.services, step=step, field=field)

    def _attempted(self, attempt: int) -> None:
        self.emit(ModelCallStarted(iteration=self.turn(), attempt=attempt))

    def _beat(self, elapsed_s: float) -> None:
        self.emit(Heartbeat(iteration=self.turn(), activity="model", elapsed_s=elapsed_s))
