"""`stream: true`: the replies of one agent run in pieces, to the events, the conversation store and the trace.

The loop is the same as ever. It asks a model that asks for pieces, and tells them on while they come.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import assert_never

from tuvl.agent.decide import clean_name
from tuvl.agent.guarded_model import ModelAround
from tuvl.agent.ledger import must_be_kept
from tuvl.agent.ports import ConversationSink, StreamingConversation
from tuvl.agent.transcript import Transcript
from tuvl.dataclass import dataclass
from tuvl.events.types import (
    AgentEnded,
    EventBody,
    StreamEnded,
    StreamReset,
    TextDelta,
    TextWithheld,
    ToolCallDelta,
)
from tuvl.llm.messages import CallNamed, ChatModel, Delta, Message, ModelReply, ModelRequest, Restarted, TextPiece
from tuvl.redaction import StreamRedactor


@dataclass(kw_only=True)
class ReplyStream:
    """Where the pieces of one run's replies go.

    `turn` gives the number of the turn. `withheld` is for agents whose text a guardrail must see whole before anybody
    does: of those only the names of tools are told on.
    """

    emit: Callable[[EventBody], None]
    turn: Callable[[], int]
    transcript: Transcript
    withheld: bool = False
    conversation: StreamingConversation | None = None
    _texts: list[str] = field(default_factory=list)
    _tools: list[str] = field(default_factory=list)
    _redactor: StreamRedactor = field(default_factory=StreamRedactor)
    _stored: bool = False
    _told: bool = False
    _finish_reason: str | None = None

    def around(self, model: ChatModel) -> "StreamedModel":
        """Return this model, asked for pieces."""
        return StreamedModel(inner=model, stream=self)

    def events(self) -> Callable[[EventBody], None]:
        """Return `emit` with the one terminal event of the stream before the agent's outcome.

        Then the last turn is stored, and no further one follows.
        """

        def emit(body: EventBody) -> None:
            if isinstance(body, AgentEnded):
                self.emit(StreamEnded(iteration=body.iteration, finish_reason=self._finish_reason))
            self.emit(body)

        return emit

    def storing(self, conversation: ConversationSink | None) -> ConversationSink | None:
        """Return a conversation sink to which replies go in pieces, if this one takes them so."""
        if self.withheld or not isinstance(conversation, StreamingConversation):
            return conversation
        self.conversation = conversation
        return _CommittingSink(stream=self, inner=conversation)

    def begin(self) -> None:
        """Get ready for a reply."""
        self._texts, self._tools = [], []
        self._redactor = StreamRedactor()
        self._stored = False
        self._finish_reason = None

    async def take(self, delta: Delta) -> None:
        """Tell the next piece on."""
        match delta:
            case TextPiece(text=text):
                self._texts.append(text)
                if text and not self.withheld:
                    await self._tell(self._redactor.feed(text))
                elif text and not self._told:
                    self._told = True
                    self.emit(TextWithheld(iteration=self.turn(), reason="output_guardrail"))
            case CallNamed(name=name):
                if not name.strip():
                    return  # a call without a name is answered like one to an unknown tool
                tool = clean_name(name)
                self._tools.append(tool)
                await self._store("")
                self.emit(ToolCallDelta(iteration=self.turn(), tool=tool))
            case Restarted(elsewhere=True):
                self.emit(StreamReset(iteration=self.turn()))
            case Restarted():
                self.void("another attempt")
                self.begin()
            case unreachable:
                assert_never(unreachable)

    async def end(self, reply: ModelReply) -> None:
        """Tell the rest of a reply on: all of it, when the model gave no pieces."""
        if reply.message.content and not self._texts:
            await self.take(TextPiece(text=reply.message.content))
        await self._tell(self._redactor.end())
        if not self._tools:
            for call in reply.message.tool_calls:
                await self.take(CallNamed(name=call.name))
        self._finish_reason = reply.finish_reason

    def void(self, why: str) -> None:
        """Say that the pieces of this reply count for nothing; they stay in the trace."""
        if not self._texts and not self._tools:
            return
        self.transcript.partial(self.turn(), "".join(self._texts), self._tools, why)
        self.emit(StreamReset(iteration=self.turn()))

    async def commit(self, message: Message) -> bool:
        """Store a reply whose pieces are stored already; says whether there are any."""
        if self.conversation is None or not self._stored:
            return False
        self._stored = False
        await self.conversation.commit(message)
        return True

    async def _tell(self, text: str) -> None:
        if text:
            await self._store(text)
            self.emit(TextDelta(iteration=self.turn(), text=text))

    async def _store(self, text: str) -> None:
        if self.conversation is None:
            return
        async with must_be_kept("conversation"):
            if not self._stored:
                self._stored = True
                await self.conversation.open_turn(self.turn())
            if text:
                await self.conversation.chunk(text)


@dataclass(kw_only=True)
class StreamedModel(ModelAround):
    """Asks for each reply in pieces. A model that has none to give answers whole, and that is one piece."""

    stream: ReplyStream

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the call; of one that fails or is cut off the pieces are void."""
        stream = self.stream
        stream.begin()
        try:
            reply = await self.inner.complete(replace(request, on_delta=stream.take))
        except asyncio.CancelledError:
            stream.void("cut off")
            raise
        except Exception:
            stream.void("the call failed")
            raise
        await stream.end(reply)
        return reply


@dataclass(kw_only=True)
class _CommittingSink:
    """Commits a reply that was stored in pieces; everything else is appended."""

    stream: ReplyStream
    inner: ConversationSink

    async def append(self, messages: Sequence[Message]) -> None:
        if len(messages) == 1 and messages[0].role == "assistant" and await self.stream.commit(messages[0]):
            return
        await self.inner.append(messages)
