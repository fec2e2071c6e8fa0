"""`Toolbox`: a closed set of tools, defined once and shared by any number of runs."""

from collections.abc import Callable, Iterable
from typing import Self

from tuvl.errors import StepError, UsageError
from tuvl.given import instance, items
from tuvl.library.function_tool import tool_from_function
from tuvl.library.tool import Tool, ToolContext
from tuvl.redaction import redact
from tuvl.tools.tool import ToolDispatch, ToolFailure, ToolOutcome
from tuvl.values import JsonObject, NotJsonError, shorten, to_json


class Toolbox:
    """What a model may do, and nothing else."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Take tools; raises `UsageError` when two have one name."""
        items("Toolbox", "tools", tools)
        self.tools = tuple(tools)
        """The tools, in the order in which they are offered."""
        for tool in self.tools:
            instance("Toolbox", "tools", tool, Tool)
        self._by_name = {tool.name: tool for tool in self.tools}
        if len(self._by_name) < len(self.tools):
            names = [tool.name for tool in self.tools]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"two tools have the name {twice!r}; rename one with @tool(name=…)")
        self.plans = tuple(tool.plan for tool in self.tools)
        """The tools in the engine's words."""

    @classmethod
    def from_functions(cls, *functions: Callable[..., object]) -> Self:
        """Make tools of Python functions, from their names, type hints and docstrings.

        A plain function runs in a thread, an async one in the event loop. What it returns must have a JSON form; what
        it raises is told to the model. Raises `UsageError` naming the function and parameter that cannot be offered.
        """
        return cls(tool_from_function(function) for function in functions)

    @classmethod
    def of(cls, tools: "Toolbox | Iterable[Tool | Callable[..., object]]") -> "Toolbox":
        """Return a toolbox of tools and functions, or the given one."""
        if isinstance(tools, Toolbox):
            return tools
        items("AgentLoop", "tools", tools)
        return cls(tool if isinstance(tool, Tool) else tool_from_function(tool) for tool in tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(self._by_name)

    def dispatcher(self, context: ToolContext) -> ToolDispatch:
        """Return what runs the tools for one run."""

        async def dispatch(ref: str, arguments: JsonObject) -> ToolOutcome:
            return await _outcome(self._by_name[ref], arguments, context)

        return dispatch


async def _outcome(tool: Tool, arguments: JsonObject, context: ToolContext) -> ToolOutcome:
    try:
        returned = await tool.run(arguments, context)
        return ToolOutcome(answer=to_json(returned, where=f"what tool {tool.name!r} returned"))
    except StepError as error:
        return _failed(error.type, error.message, error, detail=error.detail)
    except NotJsonError as error:
        return _failed("bad_result", str(error), error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool is a guest: what it raises, the model is told
        return _failed(type(error).__name__, shorten(redact(str(error))) or "it failed without saying why", error)


def _failed(type: str, message: str, cause: BaseException, *, detail: JsonObject | None = None) -> ToolOutcome:
    return ToolOutcome(
        signal="error", failure=ToolFailure(type=type, message=message, detail=detail or {}, cause=cause)
    )
