"""What an author may plug into the loop; each is a Functional node in a file, or an object in Python.

All of them are asked at one place of a turn, in this order: `Surface`, `Trim`, `WorkReservation`, `RequestObserver`,
then after an answer `Continuation`. An exception from any of them ends the run as `error`.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from tuvl.dataclass import dataclass
from tuvl.guardrails.guard import JudgeCall
from tuvl.llm.messages import Message, ModelReply, ModelRequest, Usage
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import CallWatch, RequestedCall


class Surface(Protocol):
    """Decides which of the declared tools a turn offers."""

    async def offered(self, turn: int, declared: Sequence[str]) -> frozenset[str] | None:
        """Return the names to offer, at most the declared ones; `None` keeps what was offered. Asked from turn 2 on."""
        ...


class Trim(Protocol):
    """Rewrites the messages of one request; the history itself stays whole."""

    async def trimmed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return what is sent instead; every call must keep its result, and every result its call."""
        ...


class WorkReservation(Protocol):
    """An outside quota around each model call."""

    async def reserve(self, request: ModelRequest) -> None:
        """Take what the call may use; an exception refuses the call, and nothing is refunded then."""
        ...

    async def refund(self, request: ModelRequest, used: Usage | None) -> None:
        """Settle: `used` is what the provider billed, `None` when the call failed and used nothing."""
        ...


class ToolReservation(Protocol):
    """An outside quota of tool calls."""

    async def reserve(self, calls: int) -> None:
        """Take as many calls as a reply asks for, before any of them runs; an exception ends the run, none runs."""
        ...


class RequestObserver(Protocol):
    """Sees the exact request before each attempt; may veto it."""

    async def observe_request(self, request: ModelRequest) -> None:
        """Look at a request; an exception vetoes it."""
        ...


class Continuation(Protocol):
    """Asked when the model has given its answer: is there more to do?"""

    async def more(self, turn: int, answer: str) -> Sequence[Message]:
        """Return messages to go on with; none accepts the answer."""
        ...


class Overseer(CallWatch, Protocol):
    """Watches one run of the loop, and acts through the run's control; what it decides holds before the loop goes on.

    It is told of all that happened so far before each turn, and before each call of a turn.
    """

    async def before_turn(self, turn: int) -> None:
        """Look at the loop before a turn, its first included."""
        ...

    def turn_ended(self, calls: Sequence[RequestedCall], observations: Sequence[Observation]) -> None:
        """Hear what a turn brought; both are empty for a turn whose answer was not accepted."""
        ...

    async def ended(self) -> None:
        """Hear that the loop has ended, however it did; whoever runs the loop says so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRecord:
    """One model call, for the audit. `request.messages` is the live history: take what you need before returning."""

    iteration: int
    request: ModelRequest
    reply: ModelReply
    usage: Usage
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One answered tool call, for the audit."""

    iteration: int
    call: RequestedCall
    observation: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCallRecord:
    """One model call beside the turns, for the audit: a judge's, or one that made a summary."""

    iteration: int
    purpose: Literal["judge", "summary"]
    model: str
    usage: Usage | None
    """`None` for a call that was not answered."""
    duration_ms: float
    judge: JudgeCall | None = None


class Audit(Protocol):
    """Keeps a record of every model call and every tool call, in that order. One that fails ends the run."""

    async def completion(self, record: CompletionRecord) -> None:
        """Keep a model call; called before any bound is tested on it."""
        ...

    async def tool_call(self, record: ToolCallRecord) -> None:
        """Keep an answered tool call; called in call order."""
        ...


@runtime_checkable
class SideAudit(Audit, Protocol):
    """An audit that also keeps the model calls beside the turns; any other is not told of them."""

    async def side_call(self, record: SideCallRecord) -> None:
        """Keep a call; called before any bound is tested on it."""
        ...


class ConversationSink(Protocol):
    """Stores the conversation as it happens. One that fails ends the run."""

    async def append(self, messages: Sequence[Message]) -> None:
        """Store a turn: the opening, an assistant message before its calls run, the results of its calls."""
        ...


@runtime_checkable
class StreamingConversation(ConversationSink, Protocol):
    """A conversation sink that takes the replies of a streaming agent piece by piece; any other gets them whole.

    What was opened and neither committed nor opened anew is void: the call was cut off, or its reply is no answer.
    """

    async def open_turn(self, turn: int) -> None:
        """Begin a reply; one that is open is void."""
        ...

    async def chunk(self, text: str) -> None:
        """Take the next piece of its text; the reply waits meanwhile, so gather what is costly to write."""
        ...

    async def commit(self, message: Message) -> None:
        """Store the whole reply, before its calls run; stands for `append` with this message."""
        ...
