"""What goes to a model and what comes back, in no provider's dialect; and the port every model is behind."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.given import not_negative
from tuvl.values import JsonObject, JsonValue

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call as the model made it.

    `arguments` is what came: usually JSON text, sometimes a decoded object or nothing; `tools.arguments` reads it.
    `provider` holds the parts of the call that belong to the provider (a signature, say): they go back unchanged.
    """

    id: str
    name: str
    arguments: JsonValue = None
    provider: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the conversation.

    `tool_call_id` pairs a `tool` message with its call. `provider` holds the parts of an assistant message that
    belong to the provider (reasoning blocks, signatures): they go back unchanged, and nowhere else.
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    provider: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as offered to the model; `parameters` is a JSON Schema whose root is an object."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call used, in tokens and US dollars. `cost_usd` is `None` when the price is unknown, never 0."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens. Cached input costs as much as other input unless a price of its own is given."""

    input_per_mtok: float
    output_per_mtok: float
    cached_input_per_mtok: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no price: a bound on dollars would be held against it."""
        not_negative("Price", "input_per_mtok", self.input_per_mtok)
        not_negative("Price", "output_per_mtok", self.output_per_mtok)
        not_negative("Price", "cached_input_per_mtok", self.cached_input_per_mtok, optional=True)

    def cost(self, usage: Usage) -> float:
        """Return the price of one call in US dollars."""
        cached_price = self.input_per_mtok if self.cached_input_per_mtok is None else self.cached_input_per_mtok
        cached = min(usage.cached_input_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        return (fresh * self.input_per_mtok + cached * cached_price + usage.output_tokens * self.output_per_mtok) / 1e6


FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One reply. `usage` is `None` when the provider reported none; the meter then estimates and says so."""

    message: Message
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """The next characters of a reply's text. The pieces of a reply, joined, are its text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNamed:
    """The reply asks for this tool; the arguments are still being written."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """The pieces so far are void: the call failed on the way and is made again."""

    elsewhere: bool = False
    """Whether they came in a process that was lost, so that nobody here knows them, nor whether there were any."""


Delta: TypeAlias = TextPiece | CallNamed | Restarted


class DeltaSink(Protocol):
    """Takes a reply piece by piece while the model writes it. What it raises fails the call as it is."""

    async def __call__(self, delta: Delta) -> None:
        """Take the next piece; the reply waits meanwhile."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call. `messages` is the live history: a model reads it during the call and keeps no reference."""

    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    json_answer: bool = False
    """Ask the provider for a JSON object, where it can be asked."""
    on_delta: DeltaSink | None = None
    """Takes the pieces of the reply as they come, from a model that can give them; the reply itself stays whole."""


class ChatModel(Protocol):
    """The port to a language model. Timeouts, aborts and retries are the caller's; a model makes one attempt."""

    @property
    def name(self) -> str:
        """What people call it: `openai/gpt-…`, or the preset's name."""
        ...

    @property
    def price(self) -> Price | None:
        """What it costs, when that is known."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make one call; raises `ModelError`."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
