"""tuvl: workflows of AI agents, proven before they run, bounded while they run, explained after."""

from tuvl.interrupted import quiet_until_main

quiet_until_main()  # before anything that takes its time to import

from importlib import import_module  # noqa: E402 - see above
from typing import TYPE_CHECKING  # noqa: E402

# Loaded at once, not on first use: the module has the name of the function it defines, and importing it later would
# put the module in the function's place. It imports next to nothing, so `tuvl --version` stays fast.
from tuvl.node import node  # noqa: E402

if TYPE_CHECKING:  # the names below, for type checkers; at run time each is loaded when it is first asked for
    from tuvl.agent.exits import ExitReason
    from tuvl.agent.gates import Gates
    from tuvl.agent.ports import (
        Audit,
        CompletionRecord,
        Continuation,
        ConversationSink,
        RequestObserver,
        Surface,
        ToolCallRecord,
        ToolReservation,
        Trim,
        WorkReservation,
    )
    from tuvl.control import RunControl
    from tuvl.errors import ConfigError, ModelError, StepError, TuvlError, UsageError
    from tuvl.events.types import Event
    from tuvl.library.agent_loop import AgentLoop
    from tuvl.library.live_run import LiveRun
    from tuvl.library.models import LiteLLM, OpenAICompatible
    from tuvl.library.result import AgentResult
    from tuvl.library.tool import Tool, ToolContext, tool
    from tuvl.library.toolbox import Toolbox
    from tuvl.library.values import Compaction, Conclude, Limits, Retry
    from tuvl.llm.messages import ChatModel, Message, ModelReply, ModelRequest, Price, ToolCall, Usage
    from tuvl.plan.model import ContextLimits
    from tuvl.principal import Principal
    from tuvl.tools.approval import ApprovalDecision, ApprovalRequest, Approvals, StandingAnswer
    from tuvl.tools.toolbox import ToolPolicy

__version__ = "0.1.0"

__all__ = [
    "AgentLoop",
    "AgentResult",
    "ApprovalDecision",
    "ApprovalRequest",
    "Approvals",
    "Audit",
    "ChatModel",
    "Compaction",
    "CompletionRecord",
    "Conclude",
    "ConfigError",
    "ContextLimits",
    "Continuation",
    "ConversationSink",
    "Event",
    "ExitReason",
    "Gates",
    "Limits",
    "LiteLLM",
    "LiveRun",
    "Message",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "OpenAICompatible",
    "Price",
    "Principal",
    "RequestObserver",
    "Retry",
    "RunControl",
    "StandingAnswer",
    "StepError",
    "Surface",
    "Tool",
    "ToolCall",
    "ToolCallRecord",
    "ToolContext",
    "ToolPolicy",
    "ToolReservation",
    "Toolbox",
    "Trim",
    "TuvlError",
    "Usage",
    "UsageError",
    "WorkReservation",
    "__version__",
    "node",
    "tool",
]

_HOMES = {
    "tuvl.agent.exits": ("ExitReason",),
    "tuvl.agent.gates": ("Gates",),
    "tuvl.agent.ports": (
        "Audit",
        "CompletionRecord",
        "Continuation",
        "ConversationSink",
        "RequestObserver",
        "Surface",
        "ToolCallRecord",
        "ToolReservation",
        "Trim",
        "WorkReservation",
    ),
    "tuvl.control": ("RunControl",),
    "tuvl.errors": ("ConfigError", "ModelError", "StepError", "TuvlError", "UsageError"),
    "tuvl.events.types": ("Event",),
    "tuvl.library.agent_loop": ("AgentLoop",),
    "tuvl.library.live_run": ("LiveRun",),
    "tuvl.library.models": ("LiteLLM", "OpenAICompatible"),
    "tuvl.library.result": ("AgentResult",),
    "tuvl.library.tool": ("Tool", "ToolContext", "tool"),
    "tuvl.library.toolbox": ("Toolbox",),
    "tuvl.library.values": ("Compaction", "Conclude", "Limits", "Retry"),
    "tuvl.llm.messages": ("ChatModel", "Message", "ModelReply", "ModelRequest", "Price", "ToolCall", "Usage"),
    "tuvl.plan.model": ("ContextLimits",),
    "tuvl.principal": ("Principal",),
    "tuvl.tools.approval": ("ApprovalDecision", "ApprovalRequest", "Approvals", "StandingAnswer"),
    "tuvl.tools.toolbox": ("ToolPolicy",),
}
"""Module → the public names that are defined there."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'tuvl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
