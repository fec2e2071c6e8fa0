"""A model and a ledger's sinks in the durable record of a run: what was recorded is neither asked nor written again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast, runtime_checkable

from tuvl.agent.guarded_model import ModelAround
from tuvl.agent.ports import Audit, CompletionRecord, ConversationSink, SideAudit, SideCallRecord, ToolCallRecord
from tuvl.agent.steering import RecordedSteers
from tuvl.agent.stored import RequestDigest
from tuvl.dataclass import dataclass
from tuvl.errors import ModelError
from tuvl.journal import Journal, RunJournal
from tuvl.llm.messages import ChatModel, Message, ModelReply, ModelRequest, Restarted
from tuvl.llm.meter import Meter, metered
from tuvl.llm.reply_json import error_of, error_to_json, reply_of, reply_to_json
from tuvl.llm.spent import NOTHING, spend, spent_on, with_reply
from tuvl.values import JsonObject, JsonValue


@dataclass(kw_only=True)
class RecordedModel(ModelAround):
    """Records each call with all that is done around it, retries included, as one entry.

    `by_content` names a call by what is asked: for calls whose order is not the same when the run goes on.
    """

    journal: Journal
    part: str
    by_content: bool = False
    inside: Callable[[], Journal] | None = None
    """Gives the part of the record for the call that is made just now; without it that is always `journal`."""
    stateful: "Stateful | None" = None
    """The model behind it, where that remembers how far it is."""
    steers: RecordedSteers | None = None
    """What may interrupt the call."""
    meter: Meter | None = None
    """Where attempts that gave no reply are counted, by what is around the call; `None` where they are entries too."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Give the recorded reply, or make the call; a failure is recorded and raised as one.

        The caller counts the reply; the attempts before it are counted here when the entry is taken from the record.
        """
        # A digest of its own for each call: a history that was shortened is no longer the one that was read.
        asked = RequestDigest().of(request)
        part = self.part if self.steers is None else self.steers.part_of(self.part)
        journal = self.journal if self.inside is None else self.inside()
        name = journal.numbered(f"{part}.{asked[:32]}" if self.by_content else part)
        if self.steers is not None:
            self.steers.check_call(name)

        made = False

        async def call() -> JsonValue:
            nonlocal made
            if request.on_delta is not None and journal.may_have_begun(name):
                await request.on_delta(Restarted(elsewhere=True))
            outcome = await self._made(request)
            made = True
            return outcome

        kept = cast(JsonObject, await journal.record(name, call, asked=asked))
        if not made and self.meter is not None and "lost" in kept:
            spend(self.meter, cast(JsonObject, kept["lost"]))
        if "error" in kept:
            raise error_of(cast(JsonObject, kept["error"]))
        return reply_of(cast(JsonObject, kept["reply"]))

    async def _made(self, request: ModelRequest) -> JsonObject:
        """Make the call; returns how it went, what was lost on the way, and what it spent in all."""
        outcome: JsonObject = {}
        with metered() as used:
            try:
                reply = await self.inner.complete(request)
                outcome["reply"] = reply_to_json(reply)
            except ModelError as error:
                reply = None
                outcome["error"] = error_to_json(error)
            except asyncio.CancelledError:
                if self.steers is not None:
                    self.steers.call_was_lost(spent_on(used))
                raise
            finally:
                if self.stateful is not None:
                    self.journal.keep_state(state_name(self.stateful), self.stateful.state)
        if self.meter is None:
            return outcome
        if (lost := spent_on(used)) != NOTHING:
            outcome["lost"] = lost
        return outcome | {"spent": lost if reply is None else with_reply(lost, request, reply, self.price)}


def recorded_model(
    model: ChatModel,
    journal: Journal,
    part: str,
    *,
    raw: ChatModel,
    by_content: bool = False,
    inside: Callable[[], Journal] | None = None,
    steers: RecordedSteers | None = None,
    meter: Meter | None = None,
) -> ChatModel:
    """Put a model on record, where there is one; `raw` is the model itself, without what is done around its calls.

    `meter` is the one on which that counts the attempts that gave no reply.
    """
    if not journal.keeps:
        return model
    stateful = raw if isinstance(raw, Stateful) else None
    return RecordedModel(
        inner=model,
        journal=journal,
        part=part,
        by_content=by_content,
        inside=inside,
        stateful=stateful,
        steers=steers,
        meter=meter,
    )


def state_name(model: "Stateful") -> str:
    """Return the name that a model's state is kept under."""
    return f"model.{model.name}"


def restored(model: ChatModel, journal: RunJournal) -> ChatModel:
    """Return a model that goes on from where the record ends."""
    if isinstance(model, Stateful) and (state := journal.last_state(state_name(model))) is not None:
        model.restore(state)
    return model


@runtime_checkable
class Stateful(Protocol):
    """A model that remembers how far it is, as one that reads a script does."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def state(self) -> JsonValue:
        """How far it is."""
        ...

    def restore(self, state: JsonValue) -> None:
        """Go on from there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceAudit:
    """An audit that is not written again when the run goes on."""

    inner: SideAudit
    journal: Journal

    async def completion(self, record: CompletionRecord) -> None:
        """Keep a model call."""
        await once(self.journal, "audit", lambda: self.inner.completion(record))

    async def tool_call(self, record: ToolCallRecord) -> None:
        """Keep an answered tool call."""
        await once(self.journal, "audit", lambda: self.inner.tool_call(record))

    async def side_call(self, record: SideCallRecord) -> None:
        """Keep a call beside the turns; judges of tools may come in another order, so each has its own number."""
        await once(self.journal, "audit_aside", lambda: self.inner.side_call(record))


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceConversation:
    """A conversation that is not written again when the run goes on; its replies come whole."""

    inner: ConversationSink
    journal: Journal

    async def append(self, messages: Sequence[Message]) -> None:
        """Store a turn."""
        await once(self.journal, "conversation", lambda: self.inner.append(messages))


def once_audit(audit: SideAudit | None, journal: Journal) -> Audit | None:
    """Keep an audit from being written twice, where the run is on record."""
    return audit if audit is None or not journal.keeps else OnceAudit(inner=audit, journal=journal)


def once_conversation(sink: ConversationSink | None, journal: Journal) -> ConversationSink | None:
    """Keep a conversation from being written twice, where the run is on record."""
    return sink if sink is None or not journal.keeps else OnceConversation(inner=sink, journal=journal)


async def once(journal: Journal, part: str, write: Callable[[], Awaitable[None]]) -> None:
    """Write something, unless the record says that it is written."""

    async def written() -> JsonValue:
        await write()
        return None

    await journal.record(journal.numbered(part), written)
