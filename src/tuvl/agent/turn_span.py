"""The span of one turn of an agent: the model call and the tools it asks for are inside it."""

from tuvl.agent.decide import CallTools, NextMove
from tuvl.tracing import OFF, Span, recording, span


def turn_span(step_id: str, turn: int) -> Span:
    """Return the span of a turn, counted from 1."""
    if not recording():
        return OFF
    return span("agent.iteration", {"tuvl.agent.step_id": step_id, "tuvl.agent.iteration": turn})


def tell_move(opened: Span, move: NextMove, *, tokens_used: int) -> None:
    """Set what the model asked for, and what the agent has used by then."""
    if opened is OFF:
        return
    opened.set("tuvl.agent.tokens_used", tokens_used)
    opened.set("tuvl.agent.tool_calls", len(move.calls) if isinstance(move, CallTools) else 0)
