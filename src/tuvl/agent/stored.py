"""The audit and the conversation of an agent in the store of runs."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import field

from tuvl.agent.ports import CompletionRecord, SideCallRecord, ToolCallRecord
from tuvl.clock import Clock
from tuvl.data.run_records import RunRecords
from tuvl.data.run_rows import MessageRow, ModelCallRow, ReplyRow, SideRow, ToolCallRow
from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message, ModelRequest, ToolCall, Usage
from tuvl.values import JsonValue, to_json


class StoredAudit:
    """Keeps what each model call used and, when it is `audited`, what was asked and answered, and every tool call."""

    def __init__(
        self, records: RunRecords, *, step_id: str, model: str, audited: bool, conversation: str | None
    ) -> None:
        self._records = records
        self._step_id = step_id
        self._model = model
        self._audited = audited
        self._conversation = conversation
        self._digest = RequestDigest()
        self._last_call: int | None = None

    async def completion(self, record: CompletionRecord) -> None:
        """Keep a model call."""
        self._last_call = await self._keep(
            record.iteration,
            model=record.reply.model or self._model,
            usage=record.usage,
            duration_ms=record.duration_ms,
            reply=self._reply(record) if self._audited else None,
        )

    async def side_call(self, record: SideCallRecord) -> None:
        """Keep a model call beside the turns."""
        judge = record.judge
        beside = SideRow(purpose=record.purpose)
        if judge is not None:
            beside = SideRow(
                purpose=record.purpose,
                artifact=judge.post.artifact,
                site=judge.post.site,
                verdict=judge.verdict,
                error_type=judge.error_type,
            )
        await self._keep(
            record.iteration,
            model=record.model,
            usage=record.usage or Usage(),
            duration_ms=record.duration_ms,
            beside=beside,
        )

    async def _keep(
        self,
        iteration: int,
        *,
        model: str,
        usage: Usage,
        duration_ms: float,
        reply: ReplyRow | None = None,
        beside: SideRow | None = None,
    ) -> int:
        return await self._records.model_call(
            ModelCallRow(
                place=self._records.place(self._step_id, iteration, self._conversation),
                model=model,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.total_tokens,
                cached_input_tokens=usage.cached_input_tokens,
                cost_usd=usage.cost_usd,
                estimated=usage.estimated,
                duration_ms=round(duration_ms, 3),
                reply=reply,
                beside=beside,
                audited=self._audited,
            )
        )

    async def tool_call(self, record: ToolCallRecord) -> None:
        """Keep an answered tool call."""
        if not self._audited:
            return
        call, seen = record.call, record.observation
        failure = seen.failure
        row = ToolCallRow(
            place=self._records.place(self._step_id, record.iteration, self._conversation),
            call_id=call.id,
            tool=call.name,
            arguments=call.arguments.values,
            problem=call.arguments.problem,
            signal=seen.signal,
            content=seen.content,
            size=seen.size,
            truncated=seen.truncated,
            duplicate=seen.duplicate,
            error_type=None if failure is None else failure.type,
            error_message=None if failure is None else failure.message,
            duration_ms=round(seen.duration_ms, 3),
        )
        await self._records.tool_call(row, model_call=self._last_call)

    def _reply(self, record: CompletionRecord) -> ReplyRow:
        message = record.reply.message
        return ReplyRow(
            request_digest=self._digest.of(record.request),
            request_messages=len(record.request.messages),
            content=message.content,
            tool_calls=_calls(message.tool_calls),
            thinking={key: to_json(value) for key, value in message.provider.items()},
            finish_reason=record.reply.finish_reason,
        )


class StoredConversation:
    """Appends the turns of an agent to a conversation, each as it happens.

    A reply that comes in pieces is there from its first piece on, marked as open, and grows; committed, it is a message
    like any other. What is open when a process dies stays open, and says so.
    """

    def __init__(self, records: RunRecords, *, step_id: str, conversation: str, clock: Clock) -> None:
        self._records = records
        self._step_id = step_id
        self._conversation = conversation
        self._clock = clock
        self._turn = 0
        self._open: _OpenReply | None = None

    async def append(self, messages: Sequence[Message]) -> None:
        """Store a turn."""
        if not messages:
            return
        self._turn += any(message.role == "assistant" for message in messages)
        place = self._records.place(self._step_id, self._turn, self._conversation)
        await self._records.messages(place, [_row(message) for message in messages])

    async def open_turn(self, turn: int) -> None:
        """Begin a reply."""
        if self._open is not None:
            await self._records.void_reply(self._open.number)
        place = self._records.place(self._step_id, turn, self._conversation)
        number = await self._records.open_reply(place)
        self._open = _OpenReply(number=number, turn=turn, written_at=self._clock.monotonic())

    async def chunk(self, text: str) -> None:
        """Take a piece; it is written with others, when there are enough of them or the last time is a while ago."""
        reply = self._open
        if reply is None:
            raise RuntimeError("a piece of a reply that was not opened")
        reply.texts.append(text)
        reply.waiting += len(text)
        reply.size += len(text)
        now = self._clock.monotonic()
        # The more there is, the more is gathered: writing it all anew each time costs no more than twice its size.
        if reply.waiting < max(GATHERED_CHARS, reply.size // 2) and now - reply.written_at < GATHERED_S:
            return
        reply.texts = ["".join(reply.texts)]
        await self._records.reply_so_far(reply.number, reply.texts[0])
        reply.waiting, reply.written_at = 0, now

    async def commit(self, message: Message) -> None:
        """Store the whole reply."""
        reply = self._open
        if reply is None:
            raise RuntimeError("a reply that was not opened")
        await self._records.close_reply(reply.number, _row(message))
        self._open, self._turn = None, reply.turn


GATHERED_CHARS = 1024
"""Characters of a streamed reply that are gathered before they are written."""

GATHERED_S = 1.0
"""Seconds after which fewer are written, too."""


@dataclass(slots=True, kw_only=True)
class _OpenReply:
    """A reply that comes in pieces."""

    number: int
    turn: int
    written_at: float
    texts: list[str] = field(default_factory=list)
    size: int = 0
    waiting: int = 0


def _row(message: Message) -> MessageRow:
    return MessageRow(
        role=message.role,
        content=message.content,
        tool_calls=_calls(message.tool_calls),
        tool_call_id=message.tool_call_id,
        name=message.name,
    )


class RequestDigest:
    """SHA-256 of each request of a run. A history that only grew is not read again from its beginning."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._count = 0
        self._last: Message | None = None

    def of(self, request: ModelRequest) -> str:
        """Return the digest of a request: equal ones have equal digests, in any run."""
        messages = request.messages
        if self._count > len(messages) or (self._count and messages[self._count - 1] is not self._last):
            self._hash, self._count = hashlib.sha256(), 0
        for message in messages[self._count :]:
            self._hash.update(_line(_message(message)))
        self._count, self._last = len(messages), messages[-1] if messages else None
        whole = self._hash.copy()
        whole.update(_line([[tool.name, tool.description, tool.parameters] for tool in request.tools]))
        whole.update(_line([request.max_output_tokens, request.temperature, request.json_answer]))
        return whole.hexdigest()


def _message(message: Message) -> JsonValue:
    return [message.role, message.content, message.tool_call_id, message.name, _calls(message.tool_calls)]


def _calls(calls: Sequence[ToolCall]) -> list[JsonValue]:
    return [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]


def _line(value: JsonValue) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
