"""What a checked call still needs before its tool runs: the principal's rights, then a person's approval."""

from collections.abc import Callable, Mapping
from dataclasses import field

from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.events.types import ApprovalDecided, ApprovalRequested, EventBody
from tuvl.principal import Principal
from tuvl.tools.approval import ApprovalDecision, ApprovalRequest, Approvals, StandingAnswer
from tuvl.tools.tool import ToolFailure, ToolPlan
from tuvl.values import JsonObject, JsonValue, shorten

FORBIDDEN = "forbidden"
DENIED = "approval_denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """Whether a call may run: `refusal` is told to the model; `approval` is the decision, where one was asked for."""

    refusal: ToolFailure | None = None
    approval: ApprovalDecision | None = None


CLEARED = Cleared()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """Clears the calls of one agent."""

    run_id: str
    step_id: str
    principal: Principal
    clock: Clock
    emit: Callable[[EventBody], None]
    approvals: Approvals = field(default_factory=StandingAnswer)
    values: Callable[[], Mapping[str, JsonValue]] = dict
    """The context as it is when a call is made."""

    async def clear(self, tool: ToolPlan, arguments: JsonObject, *, call_id: str, turn: int) -> Cleared:
        """Decide on one call; waits for a person when the tool asks for one."""
        missing = self.principal.lacks(scope=tool.required_scope, group=tool.required_group)
        if missing is not None:
            message = f"principal {self.principal.id!r} may not use tool {tool.ref!r}: it needs {missing}"
            return Cleared(refusal=ToolFailure(type=FORBIDDEN, message=message))
        reason = None if tool.approval is None else tool.approval.reason_to_ask(arguments, self.values())
        if reason is None:
            return CLEARED
        self.emit(ApprovalRequested(iteration=turn, tool=tool.ref, call_id=call_id))
        started = self.clock.monotonic()
        decision = await self.approvals.ask(
            ApprovalRequest(
                run_id=self.run_id,
                step_id=self.step_id,
                iteration=turn,
                tool=tool.ref,
                call_id=call_id,
                arguments=arguments,
                reason=reason,
                requested_by=self.principal.id,
            )
        )
        self.emit(
            ApprovalDecided(
                iteration=turn,
                tool=tool.ref,
                call_id=call_id,
                approved=decision.approved,
                by=decision.by,
                duration_ms=(self.clock.monotonic() - started) * 1000,
            )
        )
        if decision.approved:
            return Cleared(approval=decision)
        why = f": {shorten(decision.note)}" if decision.note else ""
        return Cleared(refusal=ToolFailure(type=DENIED, message=f"the call was not approved{why}"), approval=decision)
