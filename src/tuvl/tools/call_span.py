"""The span of one tool call that runs; what its step opens is inside it."""

from tuvl.tools.tool import ToolFailure
from tuvl.tracing import OFF, Span, recording, span


def call_span(tool: str, *, call_id: str, turn: int) -> Span:
    """Return the span of a call."""
    if not recording():
        return OFF
    return span(
        "agent.tool_call",
        {
            "tuvl.agent.tool": tool,
            "tuvl.agent.iteration": turn,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
        },
    )


def tell_outcome(opened: Span, signal: str, failure: ToolFailure | None) -> None:
    """Set how the tool ended; one that failed is an error, although the agent goes on."""
    if opened is OFF:
        return
    opened.set("tuvl.agent.tool_signal", signal)
    if failure is not None:
        opened.fail(failure.type)
