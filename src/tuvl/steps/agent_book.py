"""The tool calls of an agent in the durable record of its run, each under the id that the model gave it."""

import hashlib
from contextvars import ContextVar
from dataclasses import replace
from typing import cast

from tuvl.agent.limits import Bounds
from tuvl.dataclass import dataclass
from tuvl.steps.base import RunServices, StepResult, StepScope
from tuvl.steps.recorded import effect_of, is_pure, recorded, within
from tuvl.tools.approval import ApprovalDecision
from tuvl.tools.result import Observation, result_text
from tuvl.tools.tool import ToolFailure, ToolOutcome, ToolPlan
from tuvl.tools.toolbox import CallBook, CallWork, RequestedCall, Writes
from tuvl.values import JsonObject, JsonValue

_call: ContextVar[tuple[StepScope, RunServices] | None] = ContextVar("tuvl_recorded_call", default=None)
"""The agent whose call is made just now, and the services of the call: a tool's dispatch is not told which it is."""


def book_of(scope: StepScope, bounds: Bounds) -> CallBook | None:
    """Return the book of one run of an agent; `None` when the run is not on record."""
    return RecordedCalls(scope=scope, bounds=bounds) if scope.services.journal.keeps else None


def services_of_call(scope: StepScope, services: RunServices) -> RunServices:
    """Return the services of the call that an agent makes just now, with the meter and the budgets of those given."""
    caller, inside = _call.get() or (None, services)
    # Inside of one agent's call another one may be at work, whose own calls have a place of their own.
    if caller is not scope:
        return services
    return replace(services, journal=inside.journal, approvals=inside.approvals, take_steps=inside.take_steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCalls:
    """Records the calls of one agent: whole, as the model reads them."""

    scope: StepScope
    bounds: Bounds

    async def answered(self, call: RequestedCall, tool: ToolPlan, work: CallWork) -> tuple[Observation, Writes]:
        """Make a call, or take up how it went."""
        step = self.scope.services.plan.steps[tool.ref]
        if is_pure(step):
            return await work()
        services = self.scope.services
        name = services.journal.numbered(f"tool.{tool.ref}.{call.id}")
        arguments = call.arguments.values
        values = {**self.scope.values, **arguments, "args": arguments}

        async def making(inside: RunServices) -> JsonObject:
            token = _call.set((self.scope, inside))
            try:
                observation, writes = await work()
            finally:
                _call.reset(token)
            return {"observation": _to_json(observation), "writes": None if writes is None else dict(writes)}

        kept = await recorded(
            "end",
            replace(within(services, name), meter=self.bounds.meter),
            making,
            settle=lambda result: _settled(call, tool, result),
            effect=effect_of(step, f"{self.scope.place}: {tool.ref}", services, values, arguments),
            asked=hashlib.sha256(call.key.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        return _of(cast(JsonObject, kept["observation"])), cast(Writes, kept["writes"])


def _settled(call: RequestedCall, tool: ToolPlan, result: StepResult) -> JsonObject:
    failure = result.failure
    told = None if failure is None else ToolFailure(type=failure.type, message=failure.message)
    content = result_text(tool, ToolOutcome(signal=result.signal, delta=result.delta, failure=told))
    seen = Observation(
        call_id=call.id, tool=call.name, content=content, size=len(content), signal=result.signal, failure=told
    )
    writes = dict(result.delta) if tool.writes_context and told is None else None
    return {"observation": _to_json(seen), "writes": writes}


def _to_json(seen: Observation) -> JsonObject:
    failure, approval = seen.failure, seen.approval
    return {
        "call_id": seen.call_id,
        "tool": seen.tool,
        "content": seen.content,
        "size": seen.size,
        "truncated": seen.truncated,
        "signal": seen.signal,
        "failure": None
        if failure is None
        else {"type": failure.type, "message": failure.message, "detail": failure.detail},
        "duplicate": seen.duplicate,
        "duration_ms": seen.duration_ms,
        "approval": None
        if approval is None
        else {"approved": approval.approved, "by": approval.by, "note": approval.note},
    }


def _of(kept: JsonObject) -> Observation:
    return Observation(
        call_id=str(kept["call_id"]),
        tool=str(kept["tool"]),
        content=str(kept["content"]),
        size=cast(int, kept["size"]),
        truncated=bool(kept["truncated"]),
        signal=str(kept["signal"]),
        failure=_failure(kept["failure"]),
        duplicate=bool(kept["duplicate"]),
        duration_ms=cast(float, kept["duration_ms"]),
        approval=_approval(kept["approval"]),
    )


def _failure(kept: JsonValue) -> ToolFailure | None:
    if not isinstance(kept, dict):
        return None
    return ToolFailure(type=str(kept["type"]), message=str(kept["message"]), detail=cast(JsonObject, kept["detail"]))


def _approval(kept: JsonValue) -> ApprovalDecision | None:
    if not isinstance(kept, dict):
        return None
    return ApprovalDecision(approved=bool(kept["approved"]), by=str(kept["by"]), note=cast(str | None, kept["note"]))
