"""What a run has used, in calls, tokens and dollars; one meter for the run, one below it for each agent."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace

from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message, ModelReply, ModelRequest, Price, Usage
from tuvl.llm.reported import is_exact, read_count, read_dollars, usage_of

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for an estimate, when the provider reports no usage: nothing is downloaded for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighed:
    """How much of a history has been estimated already, and where that part ends."""

    count: int = 0
    tokens: int = 0
    last: Message | None = None


@dataclass(slots=True)
class Meter:
    """Running totals. They never fall: negative, NaN and non-numeric reports are ignored.

    `cost_usd` is `None` as soon as one call had no known price; `priced_cost_usd` keeps the sum of the others.
    """

    parent: "Meter | None" = None
    llm_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    priced_cost_usd: float = 0.0
    unpriced_calls: int = 0
    estimated: bool = False
    _weighed: "_Weighed" = field(default_factory=lambda: _Weighed())

    @property
    def cost_usd(self) -> float | None:
        """US dollars spent, `None` when unknown; 0 before the first call."""
        return None if self.unpriced_calls else self.priced_cost_usd

    @property
    def all(self) -> "Iterator[Meter]":
        """What counts together: this meter, those above it, and those of the pieces of work that go on just now."""
        for first in (self, _piece.get()):
            meter = first
            while meter is not None:
                yield meter
                meter = meter.parent

    def count_tool_call(self) -> None:
        """Count one tool call that a model asked for."""
        for meter in self.all:
            meter.tool_calls += 1

    def count_reply(self, request: ModelRequest, reply: ModelReply, price: Price | None) -> Usage:
        """Count one model call, once, and return what was counted."""
        return self._count(self._used(request, reply), price)

    def _count(self, usage: Usage, price: Price | None) -> Usage:
        if usage.cost_usd is None and price is not None:
            usage = replace(usage, cost_usd=price.cost(usage))
        for meter in self.all:
            meter.llm_calls += 1
            meter.input_tokens += usage.input_tokens
            meter.output_tokens += usage.output_tokens
            meter.total_tokens += usage.total_tokens
            meter.estimated |= usage.estimated
            if usage.cost_usd is None:
                meter.unpriced_calls += 1
            else:
                meter.priced_cost_usd += usage.cost_usd
        return usage

    def count_lost(self, request: ModelRequest, price: Price | None, *, heard: int = 0) -> Usage:
        """Count one model call that was made and gave no reply: the provider may have worked, and may send a bill.

        What it used is estimated from the request, and from the characters of a reply that were heard before it broke
        off.
        """
        inputs, outputs = self._estimate_history(request), -(-heard // CHARACTERS_PER_TOKEN)
        usage = Usage(input_tokens=inputs, output_tokens=outputs, total_tokens=inputs + outputs, estimated=True)
        return self._count(usage, price)

    def _used(self, request: ModelRequest, reply: ModelReply) -> Usage:
        """Return what a call used: as reported, and where that says nothing, by estimate."""
        reported = sane_usage(reply.usage)
        if reported is not None and not reported.estimated:
            return reported
        floor = reported or Usage(cost_usd=None if reply.usage is None else read_dollars(reply.usage.cost_usd))
        outputs = floor.output_tokens or estimate_tokens(reply.message)
        inputs = floor.input_tokens or max(self._estimate_history(request), floor.total_tokens - outputs)
        return replace(
            floor,
            input_tokens=inputs,
            output_tokens=outputs,
            total_tokens=max(floor.total_tokens, inputs + outputs),
            estimated=True,
        )

    def _estimate_history(self, request: ModelRequest) -> int:
        # The history only grows, so a long run does not weigh its first messages again on every turn.
        messages, weighed = request.messages, self._weighed
        count, tokens = weighed.count, weighed.tokens
        if count > len(messages) or (count and messages[count - 1] is not weighed.last):
            count = tokens = 0
        tokens += sum(estimate_tokens(message) for message in messages[count:])
        self._weighed = _Weighed(count=len(messages), tokens=tokens, last=messages[-1] if messages else None)
        offered = sum(len(str(tool.parameters)) + len(tool.description) for tool in request.tools)
        return tokens + offered // CHARACTERS_PER_TOKEN


_piece: ContextVar[Meter | None] = ContextVar("tuvl_metered_piece", default=None)
"""The meter of the piece of work that goes on; that of the piece around it is its parent."""


@contextmanager
def metered() -> Iterator[Meter]:
    """Meter a piece of work by itself: all that the block counts, on whatever meter, and what is begun in it counts.

    Pieces that go on at the same time have a meter each; what one inside another counts, both count.
    """
    piece = Meter(parent=_piece.get())
    token = _piece.set(piece)
    try:
        yield piece
    finally:
        _piece.reset(token)


@contextmanager
def uncounted() -> Iterator[None]:
    """Keep what the block counts to the meters that it counts on."""
    token = _piece.set(None)
    try:
        yield
    finally:
        _piece.reset(token)


def sane_usage(usage: Usage | None) -> Usage | None:
    """Return usage that can be counted, whoever made it; `None` when it says nothing."""
    if usage is None or is_exact(usage):
        return usage
    sane = usage_of(
        read_count(usage.input_tokens),
        read_count(usage.output_tokens),
        read_count(usage.total_tokens),
        cached=usage.cached_input_tokens,
        cost_usd=usage.cost_usd,
    )
    return replace(sane, estimated=True) if sane is not None and usage.estimated else sane


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of one message, a few for its frame included."""
    characters = len(message.content or "")
    for call in message.tool_calls:
        characters += len(call.name) + len(str(call.arguments or ""))
    return 4 + -(-characters // CHARACTERS_PER_TOKEN)
