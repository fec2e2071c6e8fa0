"""Tools that answer what a test says, and remember what they were asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from tuvl.errors import UsageError
from tuvl.library.tool import Tool, ToolContext, ToolFunction
from tuvl.library.toolbox import Toolbox
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue

Answer: TypeAlias = JsonValue | Exception | Callable[[JsonObject], object]
"""What a fake tool gives: a value, an exception that it raises, or a function of the arguments."""

ANYTHING: JsonObject = {"type": "object", "properties": {}}


class FakeToolbox(Toolbox):
    """Stands in for tools: `FakeToolbox({"lookup_order": {"status": "lost"}})`.

    With `like`, the names, schemas and rules are those of real tools, whose code never runs; a tool without an answer
    gives `None`. Without it, each named tool takes any arguments.
    """

    def __init__(self, answers: Mapping[str, Answer], *, like: Toolbox | None = None) -> None:
        """Make the tools; raises `UsageError` for an answer to a tool that is not among those of `like`."""
        self.calls: list[tuple[str, JsonObject]] = []
        """Every call that ran, as name and arguments, in the order of their starts."""
        if like is None:
            super().__init__(self._any(name, answer) for name, answer in answers.items())
            return
        for name in answers:
            if name not in like.names:
                hint = did_you_mean(name, like.names) or f"the tools are {', '.join(like.names)}"
                raise UsageError(f"there is no tool {name!r} to answer for; {hint}")
        super().__init__(replace(tool, run=self._runner(tool.name, answers.get(tool.name))) for tool in like.tools)

    def _any(self, name: str, answer: Answer) -> Tool:
        return Tool(name=name, description=f"stands for {name}", parameters=ANYTHING, run=self._runner(name, answer))

    def _runner(self, name: str, answer: Answer) -> ToolFunction:
        async def run(arguments: JsonObject, _context: ToolContext) -> object:
            self.calls.append((name, arguments))
            if isinstance(answer, Exception):
                raise answer
            return answer(arguments) if callable(answer) else answer

        return run
