"""Functional steps as the ports of an agent: each is called like a tool, and what it returns is read here.

A node that raises, fails or takes too long ends the agent on `error`, under its own error type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.llm.messages import Message, ModelRequest, Role, Usage
from tuvl.llm.meter import estimate_tokens
from tuvl.spec.signals import DEFAULT
from tuvl.steps.base import RunServices, StepResult
from tuvl.steps.recorded import effect_of, recorded_result, within
from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline
from tuvl.values import JsonObject, JsonValue, dollars, number_text


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperNode:
    """One Functional step that an agent asks; `field` names where the agent says so."""

    services: RunServices
    step: str
    field: str

    async def ask(self, args: JsonObject) -> Mapping[str, JsonValue]:
        """Call the node with `ctx.args` and return the keys it set; raises `StepError`."""
        result = await self.call(args)
        return result.delta

    async def permit(self, args: JsonObject, *, refusal: str) -> Mapping[str, JsonValue]:
        """Call the node; any signal but `default` refuses, as a `StepError` of type `refusal`."""
        result = await self.call(args)
        if result.signal != DEFAULT:
            raise StepError(
                f"{self._name} refused the model call with the signal {result.signal!r}",
                type=refusal,
                detail={"field": self.field, "step": self.step, "signal": result.signal},
            )
        return result.delta

    async def call(self, args: JsonObject) -> StepResult:
        """Run the step in its own time; raises `StepError` when it fails."""
        step = self.services.plan.steps[self.step]
        timeout_s = step.timeout_s or self.services.settings.agent_tool_timeout_s
        name = self.services.journal.numbered(f"node.{self.field}")
        try:
            result = await recorded_result(
                name,
                within(self.services, name),
                lambda services: run_with_deadline(
                    services.dispatch(self.step, args, services=services), timeout_s, what=self._name
                ),
                effect=effect_of(step, self.services.path + step.id, self.services, args),
            )
        except DeadlineExceededError:
            raise StepError(f"{self._name} did not finish within {number_text(timeout_s)} s", type="timeout") from None
        except GuestCancelledError:
            raise StepError(f"{self._name} cancelled itself", type="cancelled") from None
        failure = result.failure
        if failure is not None:
            detail: JsonObject = {**failure.detail, "field": self.field, "step": self.step}
            raise StepError(f"{self._name}: {failure.message}", type=failure.type, detail=detail) from failure.cause
        return result

    def bad(self, what: str) -> StepError:
        """Return the error of a node that returned something else than its field asks for."""
        return StepError(
            f"{self._name} returned {what}", type="bad_result", detail={"field": self.field, "step": self.step}
        )

    @property
    def _name(self) -> str:
        return f"step {self.step!r} ({self.field})"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSurface:
    """`tool_surface`: `ctx.args` has `turn` and `tools` (all declared names); returns `{"tools": [names]}`."""

    node: HelperNode

    async def offered(self, turn: int, declared: Sequence[str]) -> frozenset[str] | None:
        """Ask which tools to offer; nothing returned keeps what was offered."""
        names = (await self.node.ask({"turn": turn, "tools": list[JsonValue](declared)})).get("tools")
        if names is None:
            return None
        return frozenset(_texts(names, self.node, "tools"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrim:
    """`trim`: `ctx.args` has `messages`, each with its `index`; returns `{"messages": [...]}`, or nothing."""

    node: HelperNode

    async def trimmed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Ask what is sent instead."""
        shown: list[JsonValue] = [{"index": index, **message_data(message)} for index, message in enumerate(messages)]
        returned = (await self.node.ask({"messages": shown})).get("messages")
        if returned is None:
            return messages
        if not isinstance(returned, list) or not returned:
            raise self.node.bad("`messages` that are no list of messages")
        return [self._message(entry, messages) for entry in returned]

    def _message(self, entry: JsonValue, messages: Sequence[Message]) -> Message:
        """Read one entry: with an `index` it is that message, its text perhaps another; without, a new text."""
        if isinstance(entry, int) and not isinstance(entry, bool):
            entry = {"index": entry}
        if not isinstance(entry, dict):
            raise self.node.bad("a message that is neither an index nor a mapping")
        index, content = entry.get("index"), entry.get("content")
        if content is not None and not isinstance(content, str):
            raise self.node.bad("a message whose `content` is no text")
        if index is None:
            role = entry.get("role")
            if role not in ("system", "user", "assistant") or content is None:
                raise self.node.bad("a new message without a `role` (system, user or assistant) and a `content`")
            return Message(role=cast(Role, role), content=content)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(messages):
            raise self.node.bad("a message whose `index` is none of those it was given")
        kept = messages[index]
        return replace(kept, content=content) if "content" in entry and content != kept.content else kept


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContinuation:
    """`continue_on_stop`: `ctx.args` has `turn` and `answer`; returns `{"message": text}`, or nothing to accept."""

    node: HelperNode

    async def more(self, turn: int, answer: str) -> Sequence[Message]:
        """Ask whether there is more to do."""
        returned = await self.node.ask({"turn": turn, "answer": answer})
        message = returned.get("message")
        texts = returned.get("messages", [] if message is None else [message])
        return [Message(role="user", content=text) for text in _texts(texts, self.node, "messages") if text.strip()]


@dataclass(slots=True, kw_only=True)
class NodeReservation:
    """`reserve.reserve` and `reserve.refund`, around each model call; what the first returns, the second is given."""

    reserve_node: HelperNode
    refund_node: HelperNode | None
    model: str
    _held: JsonObject | None = None

    async def reserve(self, request: ModelRequest) -> None:
        """Ask for what the call may use; a refusal is an exception."""
        args: JsonObject = {
            "model": self.model,
            "messages": len(request.messages),
            "estimated_input_tokens": sum(map(estimate_tokens, request.messages)),
            "max_output_tokens": request.max_output_tokens,
        }
        self._held = dict(await self.reserve_node.permit(args, refusal="reservation_refused"))

    async def refund(self, request: ModelRequest, used: Usage | None) -> None:
        """Tell what was used; `null` says that the call failed and used nothing."""
        if self.refund_node is not None:
            usage = None if used is None else _usage(used)
            await self.refund_node.ask({"model": self.model, "reservation": self._held, "usage": usage})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObserver:
    """`reserve.observe_request`: `ctx.args` has `model`, `messages` and `tools` of the request that is going out."""

    node: HelperNode
    model: str

    async def observe_request(self, request: ModelRequest) -> None:
        """Show a request; any signal but `default` vetoes it."""
        args: JsonObject = {
            "model": self.model,
            "messages": [message_data(message) for message in request.messages],
            "tools": [tool.name for tool in request.tools],
        }
        await self.node.permit(args, refusal="request_vetoed")


def message_data(message: Message) -> JsonObject:
    """Return a message as a node reads it; what belongs to the provider is left out."""
    data: JsonObject = {"role": message.role, "content": message.content}
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        data |= {"tool_call_id": message.tool_call_id, "name": message.name}
    return data


def _usage(used: Usage) -> JsonObject:
    return {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.total_tokens,
        "cached_input_tokens": used.cached_input_tokens,
        "cost_usd": dollars(used.cost_usd),
    }


def _texts(value: JsonValue, node: HelperNode, key: str) -> list[str]:
    texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(texts) < len(value):
        raise node.bad(f"`{key}` that are no list of texts")
    return texts
