"""What the fields of an Agent step ask for, in the words of the loop: its settings, its models, its nodes as ports."""

from collections.abc import Callable
from dataclasses import replace

from tuvl.agent.asking import Sampling
from tuvl.agent.assembly import LoopPorts, LoopSettings, ModelCalls
from tuvl.agent.limits import Bounds
from tuvl.agent.recorded import recorded_model
from tuvl.agent.steering import RecordedSteers
from tuvl.dataclass import dataclass
from tuvl.events.types import EventBody
from tuvl.journal import NO_JOURNAL
from tuvl.llm.messages import ChatModel
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
    """Reads the fields for one run; `turn` gives its number of turns so far."""

    agent: AgentPlan
    scope: StepScope
    bounds: Bounds
    emit: Callable[[EventBody], None]
    turn: Callable[[], int]
    steers: RecordedSteers | None = None

    def settings(self) -> LoopSettings:
        """Return what shapes the loop."""
        agent = self.agent
        return LoopSettings(
            outcome=agent.outcome,
            sampling=Sampling(
                max_output_tokens=agent.max_output_tokens,
                temperature=agent.temperature,
                interruptible=agent.steer_mode == "interrupt",
            ),
            conclude=agent.conclude,
            compaction=agent.compaction,
            context_limits=agent.context_limits,
            max_continuations=agent.max_continuations,
            stream=agent.stream,
            withheld=bool(agent.guardrails.output),
        )

    def model(self, plan: ModelPlan | None = None) -> ChatModel:
        """Return a model, the agent's unless another is named, with all that is done around each of its calls."""
        agent, services = self.agent, self.scope.services
        plan = plan or agent.model
        calls = ModelCalls(
            retry=agent.retry,
            timeout_s=agent.timeout_s,
            heartbeat_s=agent.heartbeat_s,
            clock=services.clock,
            emit=self.emit,
            turn=self.turn,
            meter=self.bounds.meter,
        )
        raw = services.model_for(plan)
        model = calls.around(raw, observer=self._observer(plan.name), reservation=self._reservation(plan.name))
        part = model_part(plan)
        return recorded_model(model, services.journal, part, raw=raw, steers=self.steers, meter=self.bounds.meter)

    def summary_model(self) -> ChatModel | None:
        """Return the model that makes summaries; `None` when it is the agent's own."""
        plan = None if self.agent.compaction is None else self.agent.compaction.model
        return None if plan is None or plan.name == self.agent.model.name else self.model(plan)

    def ports(self) -> LoopPorts:
        """Return the nodes that the loop asks."""
        surface = self._node("tool_surface", self.agent.tool_surface)
        trim = self._node("trim", self.agent.trim)
        more = self._node("continue_on_stop", self.agent.continue_on_stop)
        return LoopPorts(
            surface=None if surface is None else NodeSurface(node=surface),
            trim=None if trim is None else NodeTrim(node=trim),
            continuation=None if more is None else NodeContinuation(node=more),
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

    def _observer(self, model: str) -> NodeObserver | None:
        reserve = self.agent.reserve
        node = None if reserve is None else self._node_of_call("reserve.observe_request", reserve.observe_request)
        return None if node is None else NodeObserver(node=node, model=model)

    def _reservation(self, model: str) -> NodeReservation | None:
        reserve = self.agent.reserve
        node = None if reserve is None else self._node_of_call("reserve.reserve", reserve.reserve)
        if reserve is None or node is None:
            return None
        refund = self._node_of_call("reserve.refund", reserve.refund)
        return NodeReservation(reserve_node=node, refund_node=refund, model=model)

    def _node(self, field: str, step: str | None) -> HelperNode | None:
        return None if step is None else HelperNode(services=self.scope.services, step=step, field=field)

    def _node_of_call(self, field: str, step: str | None) -> HelperNode | None:
        """Return a node that is asked around a model call, and recorded with it as one entry."""
        services = replace(self.scope.services, journal=NO_JOURNAL)
        return None if step is None else HelperNode(services=services, step=step, field=field)


def model_part(plan: ModelPlan) -> str:
    """Return the part of a record that the calls of a model go to."""
    return f"turn.{plan.name}"
