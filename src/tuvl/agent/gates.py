"""The three sites where content is looked at: before the model, on each tool result, on the final answer."""

from typing import Protocol

from tuvl.tools.toolbox import ToolsGate


class Gates(ToolsGate, Protocol):
    """Guards of one agent run. Each returns the text that may go on, or raises a `StepError` that ends the run."""

    async def input(self, text: str) -> str:
        """Look at the assembled user text, before anything is sent."""
        ...

    async def output(self, text: str) -> str:
        """Look at the final answer, before anything is written."""
        ...


class OpenGates:
    """No guards declared: everything passes."""

    async def input(self, text: str) -> str:
        """Pass."""
        return text

    async def observation(self, text: str) -> str:
        """Pass."""
        return text

    async def output(self, text: str) -> str:
        """Pass."""
        return text
