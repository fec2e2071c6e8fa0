"""The span of one model call, by OpenTelemetry's conventions for generative AI; counts and names, no contents.

It is one span for the call as its caller sees it, attempts and the waits between them included.
"""

from typing import TypeAlias

from tuvl.llm.identity import identity_of
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest
from tuvl.tracing import OFF, AttributeValue, Span, recording, span

FINISH_REASONS = "gen_ai.response.finish_reasons"

_Attributes: TypeAlias = dict[str, AttributeValue]


def chat_span(model: ChatModel, request: ModelRequest) -> Span:
    """Return the span of a call; `tell_reply` adds what is known at its end."""
    if not recording():
        return OFF
    who = identity_of(model)
    attributes: _Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": who.provider,
        "gen_ai.request.model": who.model,
        # What stands there when no reply comes.
        FINISH_REASONS: ("error",),
    }
    if request.max_output_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = request.max_output_tokens
    if request.temperature is not None:
        attributes["gen_ai.request.temperature"] = request.temperature
    if request.json_answer:
        attributes["gen_ai.output.type"] = "json"
    if request.on_delta is not None:
        attributes["gen_ai.request.stream"] = True
    return span(f"chat {who.model}", attributes, kind="client")


def tell_wait(opened: Span, waited_s: float) -> None:
    """Set how many seconds the call has waited because its model may be called only so often."""
    if opened is not OFF and waited_s:
        opened.set("tuvl.model.rate_limit_wait_s", round(waited_s, 3))


def tell_reply(opened: Span, reply: ModelReply, *, attempts: int) -> None:
    """Set what the reply says; usage that the provider did not report is left out."""
    if opened is OFF:
        return
    opened.set(FINISH_REASONS, (reply.finish_reason,))
    if reply.model is not None:
        opened.set("gen_ai.response.model", reply.model)
    if attempts > 1:
        opened.set("tuvl.model.attempts", attempts)
    usage = reply.usage
    if usage is None or usage.estimated:
        return
    opened.set("gen_ai.usage.input_tokens", usage.input_tokens)
    opened.set("gen_ai.usage.output_tokens", usage.output_tokens)
    if usage.cached_input_tokens:
        opened.set("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens)
