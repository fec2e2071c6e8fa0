"""`kind: AgentModel`: one language model as the project calls it."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuvl.spec.base import (
    Contract,
    Count,
    Envelope,
    Json,
    Many,
    Needs,
    NonNegative,
    Ruled,
    Seconds,
    Temperature,
    Text,
    Tree,
)


class PriceSpec(Contract):
    """US dollars for a million tokens."""

    input_per_mtok: NonNegative
    """Input tokens."""
    output_per_mtok: NonNegative
    """Output tokens."""
    cached_input_per_mtok: NonNegative | None = None
    """Input tokens that the provider had cached; default `input_per_mtok`."""


class ScriptedCall(Contract):
    """A tool call of a scripted reply."""

    id: str | None = None
    """Id of the call; made up when not given."""
    name: str | None = None
    """Name of the tool."""
    arguments: Json = None
    """Arguments: a mapping, or text as a model would send it."""
    provider: Tree | None = None
    """Parts of the call that belong to the provider, as a recording keeps them."""


class ScriptedUsage(Contract):
    """Usage that a scripted reply reports."""

    input_tokens: int = 0
    """Input tokens."""
    output_tokens: int = 0
    """Output tokens."""
    total_tokens: int | None = None
    """All tokens; default the sum."""
    cached_input_tokens: int = 0
    """Input tokens that the provider had cached."""
    cost_usd: float | None = None
    """What the provider says the call cost."""


class ScriptedError(Contract):
    """A failure instead of a reply."""

    type: Text = "server_error"
    """Kind of failure, e.g. `timeout`, `connection`, `rate_limited`, `authentication`."""
    message: str | None = None
    """What it says."""
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    """HTTP status."""
    retryable: bool | None = None
    """Whether another attempt may help; default by type."""
    retry_after_s: NonNegative | None = None
    """Seconds the provider asks to wait."""


class ScriptedWhen(Contract):
    """Which request a scripted reply answers; all that is given must hold of the last message."""

    role: Literal["system", "user", "assistant", "tool"] | None = None
    """Role of the last message."""
    contains: Text | None = None
    """Text that the last message holds."""
    tool: Text | None = None
    """Tool whose result the last message is."""


class ScriptedReply(Ruled):
    """One reply of a script."""

    at_most_one: ClassVar[tuple[str, ...]] = ("text", "json")

    when: ScriptedWhen | Text | None = None
    """Which request it answers, as a text that the last message holds or in detail; default the next one."""
    text: str | None = None
    """Text of the reply."""
    json_: Json = Field(default=None, alias="json")
    """Text of the reply, given as JSON."""
    tool_calls: Many[ScriptedCall] = ()
    """Tool calls of the reply."""
    usage: ScriptedUsage | None = None
    """Usage; estimated when not given."""
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter", "other"] | None = None
    """Why the reply ended; default `tool_calls` with calls, else `stop`."""
    delay_s: NonNegative = 0.0
    """Seconds before the reply."""
    word_delay_s: NonNegative = 0.0
    """Seconds between its words, where the agent has `stream: true`."""
    error: ScriptedError | None = None
    """A failure instead of a reply."""
    provider: Tree | None = None
    """Parts of the reply that belong to the provider, as a recording keeps them."""
    model: Text | None = None
    """Model that gave the reply, as a recording keeps it."""
    request: Tree | None = None
    """Request that the reply answered, as a recording keeps it."""


class RateLimit(Contract):
    """How often a model may be called."""

    calls: Count
    """Most calls, each attempt among them, in any stretch of `per_seconds`."""
    per_seconds: Seconds
    """Length of that stretch in seconds."""


class ModelSpec(Ruled):
    """How a language model is called."""

    at_most_one: ClassVar[tuple[str, ...]] = ("script", "replies")
    needs: ClassVar[tuple[Needs, ...]] = (
        Needs("provider", ("openai_compatible",), ("api_base",)),
        Needs("provider", ("scripted",), ("model",), otherwise=True),
    )

    provider: Text
    """Provider: `openai_compatible`, `scripted`, or any that LiteLLM knows, such as `anthropic`."""
    model: Text | None = None
    """Name of the model at that provider."""
    api_base: Text | None = None
    """Base URL of the API; required for `openai_compatible`."""
    api_key: Text | None = None
    """Key; give it as `${VAR}`."""
    temperature: Temperature | None = None
    """Sampling temperature, from 0 to 2."""
    max_tokens: Count | None = None
    """Most tokens of one reply."""
    timeout: Seconds | None = None
    """Seconds one call may take; default 120."""
    context_window: Count | None = None
    """Tokens that request and reply may have together."""
    rate_limit: RateLimit | None = None
    """Most calls in a time, of all runs together; a call that comes too early waits. `null` is off."""
    price: PriceSpec | None = None
    """Price; default what LiteLLM knows of the model, else unknown."""
    extra: Tree = Field(default_factory=dict)
    """Further parameters passed to the provider as they are; none that the engine sets, or bounds reckon with."""
    script: Text | None = None
    """`provider: scripted`: path of a file of replies, from the folder of this file."""
    replies: Many[ScriptedReply | str] | None = None
    """`provider: scripted`: the replies; a plain text is short for `{text: …}`."""


class AgentModel(Envelope):
    """A language model under a name of the project."""

    kind: Literal["AgentModel"]
    """A language model under a name of the project."""
    spec: ModelSpec
    """How it is called."""
