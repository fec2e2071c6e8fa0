"""Events of a run → structured log records: names, counts and signals, each with its run, step, turn and span."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from tuvl.events.types import (
    AgentEnded,
    ApprovalDecided,
    Event,
    EventBody,
    Intervened,
    Iteration,
    RunFinished,
    RunStarted,
    StepFinished,
    ToolCallFinished,
)
from tuvl.spec.signals import ERROR, RESERVED_EXITS
from tuvl.values import dollars

LOGGER = "tuvl.run"
"""Name of the logger that the records go to."""

_MODEL_ERRORS = frozenset(
    {
        "authentication",
        "bad_request",
        "bad_response",
        "connection",
        "content_filter",
        "context_overflow",
        "rate_limited",
        "replay_mismatch",
        "script_exhausted",
        "server_error",
        "timeout",
        "truncated_reply",
        "unknown",
        "unpriced_model",
    }
)
_ANSWER_ERRORS = frozenset(
    {"empty_response", "invalid_outcome", "invalid_result", "parse_error", "unexpected_tool_call"}
)

_log = logging.getLogger(LOGGER)


class LogSink:
    """A sink that logs what happens; normal ends at level info, abnormal ones as warnings."""

    def accept(self, event: Event) -> None:
        """Log one event; those that only a live view needs are passed over."""
        told = _told(event.body)
        if told is None:
            return
        name, fields, abnormal = told
        where: dict[str, object] = {"at": event.at.isoformat(), "run_id": event.run_id}
        if event.step_id is not None:
            where["step_id"] = event.step_id
        if event.span is not None:
            where |= {"trace_id": event.span.trace_id, "span_id": event.span.span_id}
        _log.log(logging.WARNING if abnormal else logging.INFO, name, extra={**where, **fields})


class _Told(NamedTuple):
    """What an event is logged as."""

    name: str
    fields: Mapping[str, object]
    abnormal: bool = False


def _told(body: EventBody) -> _Told | None:
    match body:
        case RunStarted():
            return _Told("run.started", {"workflow": body.workflow})
        case Iteration():
            used = {"iteration": body.iteration, "tool_calls": body.tool_calls, "tokens_used": body.tokens_used}
            return _Told("agent.turn", {**used, "cost_usd": dollars(body.cost_usd)})
        case ToolCallFinished():
            call = {"iteration": body.iteration, "tool": body.tool, "call_id": body.call_id, "signal": body.signal}
            return _Told("agent.tool_call", {**call, "duration_ms": round(body.duration_ms, 3)})
        case ApprovalDecided():
            asked = {"iteration": body.iteration, "tool": body.tool, "call_id": body.call_id, "by": body.by}
            return _Told("agent.approval", {**asked, "approved": body.approved})
        case Intervened():
            said = {"action": body.action, "source": body.source, "by": body.by, "reason": body.reason}
            return _Told("run.intervention", {"iteration": body.iteration, **said}, abnormal=body.action != "resume")
        case AgentEnded(error_type=None):
            return _Told("agent.finished", {"iteration": body.iteration, "signal": body.signal})
        case AgentEnded():
            ended = {"iteration": body.iteration, "signal": body.signal, "error_type": body.error_type}
            return _Told(exit_name(body), ended, abnormal=True)
        case StepFinished():
            step = {"kind": body.kind, "signal": body.signal, "duration_ms": round(body.duration_ms, 3)}
            return _Told("step.finished", step, abnormal=body.signal in RESERVED_EXITS)
        case RunFinished():
            run = {"status": body.status, "signal": body.signal, "duration_ms": round(body.duration_ms, 3)}
            return _Told("run.finished", run, abnormal=body.status in ("failed", "aborted"))
        case _:
            return None


def exit_name(ended: AgentEnded) -> str:
    """Name an abnormal end by what stopped the agent."""
    if ended.signal != ERROR:
        return f"agent.{ended.signal}"
    if ended.error_type in _MODEL_ERRORS:
        return "agent.llm_error"
    if ended.error_type in _ANSWER_ERRORS:
        return "agent.invalid_outcome"
    return "agent.tool_timeout" if ended.error_type == "tool_timeout" else "agent.error"
