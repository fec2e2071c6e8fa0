"""What people plug into a loop, held at arm's length: what it raises ends the run as `error`, and is its cause."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tuvl.agent.gates import Gates
from tuvl.agent.ports import Continuation, RequestObserver, Surface, ToolReservation, Trim, WorkReservation
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import Message, ModelRequest, Usage
from tuvl.redaction import redact
from tuvl.tools.approval import ApprovalDecision, ApprovalRequest, Approvals
from tuvl.values import shorten

Answer = TypeVar("Answer")


async def ask(port: str, question: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask a port; raises `StepError`: its own, or one that names the port and what it raised."""
    try:
        return await question()
    except StepError:
        raise
    except Exception as error:
        said = shorten(redact(str(error)))
        message = f"the {port} raised {type(error).__name__}" + (f": {said}" if said else "")
        raise StepError(message, type=f"{port}_failed") from error


@dataclass(frozen=True, slots=True)
class GuestSurface:
    """A surface that may fail."""

    inner: Surface

    async def offered(self, turn: int, declared: Sequence[str]) -> frozenset[str] | None:
        """Ask which tools to offer."""
        names = await ask("surface", lambda: self.inner.offered(turn, declared))
        return None if names is None else frozenset(names)


@dataclass(frozen=True, slots=True)
class GuestTrim:
    """A trim that may fail."""

    inner: Trim

    async def trimmed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Ask what is sent; the live history stays out of reach."""
        return await ask("trim", lambda: self.inner.trimmed(tuple(messages)))


@dataclass(frozen=True, slots=True)
class GuestReservation:
    """A reservation that may fail."""

    inner: WorkReservation

    async def reserve(self, request: ModelRequest) -> None:
        """Reserve."""
        await ask("reservation", lambda: self.inner.reserve(request))

    async def refund(self, request: ModelRequest, used: Usage | None) -> None:
        """Settle."""
        await ask("reservation", lambda: self.inner.refund(request, used))


@dataclass(frozen=True, slots=True)
class GuestToolReservation:
    """A reservation of tool calls that may fail."""

    inner: ToolReservation

    async def reserve(self, calls: int) -> None:
        """Reserve."""
        await ask("reservation", lambda: self.inner.reserve(calls))


@dataclass(frozen=True, slots=True)
class GuestObserver:
    """An observer that may veto."""

    inner: RequestObserver

    async def observe_request(self, request: ModelRequest) -> None:
        """Show a request."""
        await ask("observer", lambda: self.inner.observe_request(request))


@dataclass(frozen=True, slots=True)
class GuestContinuation:
    """A continuation that may fail."""

    inner: Continuation

    async def more(self, turn: int, answer: str) -> Sequence[Message]:
        """Ask for more."""
        return await ask("continuation", lambda: self.inner.more(turn, answer))


@dataclass(frozen=True, slots=True)
class GuestGates:
    """Gates that may fail."""

    inner: Gates

    async def input(self, text: str) -> str:
        """Look at the task."""
        return await ask("gate", lambda: self.inner.input(text))

    async def observation(self, text: str) -> str:
        """Look at a tool's result."""
        return await ask("gate", lambda: self.inner.observation(text))

    async def output(self, text: str) -> str:
        """Look at the final answer."""
        return await ask("gate", lambda: self.inner.output(text))


@dataclass(frozen=True, slots=True)
class GuestApprovals:
    """Somebody who approves, and may fail to."""

    inner: Approvals

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask for a decision."""
        return await ask("approvals", lambda: self.inner.ask(request))
