"""What one run keeps in the store of runs: opened at the first record, closed with the run's result."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tuvl.clock import Clock
from tuvl.complaints import in_a_word, traceback_of
from tuvl.data.owed_ends import OwedEnds, is_away
from tuvl.data.run_rows import InterventionRow, MessageRow, ModelCallRow, Place, RunRow, ToolCallRow
from tuvl.data.secure import SecureValues
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, StepError
from tuvl.redaction import redact
from tuvl.sealing import Keys
from tuvl.values import JsonObject, JsonValue, storable

if TYPE_CHECKING:
    from tuvl.data.run_store import RunStore


class StoreAccess:
    """The way to the store of runs of a project, kept by an engine; SQLAlchemy is imported when it is first asked for.

    `url` is that of `TUVL_DATABASE_URL`; without one the store is a SQLite file of the project. `keys` encrypt what it
    keeps of results, and of what runs are told.
    """

    def __init__(self, root: str, url: str | None, keys: Sequence[str] = ()) -> None:
        self._root = root
        self._url = url
        self._given = keys
        self._store: RunStore | None = None
        self.owed = OwedEnds()
        """Ends of runs of this process that the store could not take when they came."""

    @property
    def store(self) -> "RunStore":
        """The store; raises `ConfigError` when its URL cannot be read."""
        if self._store is None:
            # Their import is paid for by those who keep records.
            from tuvl.data.location import own_file, read_url
            from tuvl.data.run_store import RunStore

            if self._url is None:
                self._store = RunStore(
                    own_file(self._root, "runs.db"), elsewhere="set TUVL_DATABASE_URL", keys=self.keys
                )
            else:
                url = read_url(self._url, root=self._root, where="TUVL_DATABASE_URL")
                self._store = RunStore(url, elsewhere="change TUVL_DATABASE_URL", keys=self.keys)
        return self._store

    @cached_property
    def keys(self) -> Keys:
        """What encrypts it; raises `UsageError` for a key that is none."""
        return Keys(self._given)

    async def ready(self) -> None:
        """See that the store can be written, before work is done that has to be kept; raises `ConfigError`."""
        try:
            await self.store.ready()
        except StepError as error:
            raise ConfigError(error.message) from error

    @property
    def is_there(self) -> bool:
        """Whether there can be anything in the store; looking makes nothing."""
        return self._url is not None or (Path(self._root) / ".tuvl" / "runs.db").exists()

    async def aclose(self) -> None:
        """Close every connection, once what is owed is kept as far as it can be."""
        await self.owed.aclose()
        if self._store is not None:
            await self._store.aclose()
            self._store = None


_log = logging.getLogger("tuvl.data")


@dataclass(kw_only=True, slots=True)
class _State:
    beginning: asyncio.Future[None] | None = None
    """The write that keeps that the run began; it goes on when whoever waits for it is cut off."""
    begun: bool = False
    finished: bool = False


class RunRecords:
    """The records of one run. Nothing is written before the first one; every text is cleaned of secrets."""

    def __init__(self, access: StoreAccess, run: RunRow, *, secure: SecureValues, clock: Clock) -> None:
        self._access = access
        self._run = run
        self._secure = secure
        self._clock = clock
        self._lock = asyncio.Lock()
        self._state = _State()

    def place(self, step_id: str, iteration: int, conversation: str | None) -> Place:
        """Return a place in this run, at this moment."""
        return Place(step_id=step_id, iteration=iteration, at=self._clock.now(), conversation=conversation)

    async def open(self, *, again: bool) -> None:
        """Keep that the run has begun, before anything else is kept of it; or, `again`, that it goes on."""
        if not again:
            await self._begun()
            return
        async with self._lock:
            await self._access.store.reopen(self._run)
            self._state.begun = True

    async def model_call(self, row: ModelCallRow) -> int:
        """Keep a model call; returns its number."""
        if row.reply is not None:
            reply = row.reply
            row = replace(
                row,
                reply=replace(
                    reply,
                    content=self._text(reply.content),
                    tool_calls=self._list(reply.tool_calls),
                    thinking=self._object(reply.thinking),
                ),
            )
        return await (await self._begun()).model_call(self._run.run_id, row)

    async def tool_call(self, row: ToolCallRow, *, model_call: int | None) -> None:
        """Keep an answered tool call, behind the model call of that number."""
        row = replace(
            row,
            tool=self._text(row.tool) or "",
            call_id=self._text(row.call_id) or "",
            arguments=self._object(row.arguments),
            problem=self._text(row.problem),
            content=self._text(row.content) or "",
            error_message=self._text(row.error_message),
        )
        await (await self._begun()).tool_call(self._run.run_id, row, model_call=model_call)

    async def messages(self, place: Place, rows: Sequence[MessageRow]) -> None:
        """Append messages to a conversation."""
        clean = [
            replace(
                row,
                content=self._text(row.content),
                tool_calls=self._list(row.tool_calls),
                tool_call_id=self._text(row.tool_call_id),
                name=self._text(row.name),
            )
            for row in rows
        ]
        await (await self._begun()).messages(self._run.run_id, place, clean)

    async def open_reply(self, place: Place) -> int:
        """Begin a reply that comes in pieces; returns its number."""
        return await (await self._begun()).open_message(self._run.run_id, place)

    async def reply_so_far(self, number: int, text: str) -> None:
        """Keep what an open reply says by now. Of a secure value that is only half there yet, nothing is kept."""
        whole = self._secure.without_beginnings(self._text(text) or "")
        await self._access.store.rewrite_message(number, content=whole, state="open")

    async def close_reply(self, number: int, row: MessageRow) -> None:
        """Keep the whole of an open reply in its place."""
        calls = self._list(row.tool_calls)
        await self._access.store.rewrite_message(number, content=self._text(row.content), tool_calls=calls, state=None)

    async def void_reply(self, number: int) -> None:
        """Keep that an open reply began anew: nothing came of what was kept."""
        await self._access.store.void_message(number)

    async def intervention(self, row: InterventionRow) -> None:
        """Keep what a supervisor did to the run."""
        row = replace(row, message=self._text(row.message) or "", reason=self._text(row.reason) or "")
        await (await self._begun()).control.intervention(self._run.run_id, row)

    async def finish(self, document: JsonObject, *, wanted: bool) -> None:
        """Keep how the run ended; a run of which nothing was kept so far is kept when it is `wanted`.

        Where the store is away this raises, and the end is kept when it is back.
        """
        if not (wanted or self._is_begun):
            return
        result = self._object({name: value for name, value in document.items() if name != "trace"})
        signal = document.get("signal")
        await self._end(str(document.get("status")), None if signal is None else str(signal), result)
        self._state.finished = True

    async def _end(self, status: str, signal: str | None, result: JsonValue) -> None:
        run_id, at = self._run.run_id, self._clock.now()

        async def keep() -> None:
            await (await self._begun()).finish(run_id, status=status, signal=signal, at=at, result=result)

        try:
            await keep()
        except StepError as error:
            if is_away(error):
                self._state.finished = True
                self._access.owed.owe(run_id, keep)
            raise

    def leave(self) -> None:
        """Say that the run goes on elsewhere: nothing is kept of how it stands here."""
        self._state.finished = True

    async def interrupted(self) -> None:
        """Keep that the run was cut off before it had a result; does nothing for one that is kept as it ended."""
        if self._is_begun and not self._state.finished:
            self._state.finished = True
            try:
                await self._end("aborted", None, None)
            except Exception as error:  # noqa: BLE001 - what cut the run off is the news, not what its record says
                said = "run %r could not be closed in the store of runs: %s"
                _log.warning(said, self._run.run_id, in_a_word(error), exc_info=traceback_of(error))

    @property
    def _is_begun(self) -> bool:
        return self._state.begun or self._state.beginning is not None

    async def _begun(self) -> "RunStore":
        store = self._access.store
        if not self._state.begun:
            async with self._lock:
                if not self._state.begun:
                    await self._begin(store)
        return store

    async def _begin(self, store: "RunStore") -> None:
        state = self._state
        if state.beginning is None:
            state.beginning = asyncio.ensure_future(store.begin(self._run))
        try:
            # Shielded, since an abort cuts off whoever waits: the row is written all the same, and only once.
            await asyncio.shield(state.beginning)
        except Exception:
            state.beginning = None
            raise
        state.begun = True

    def _object(self, value: JsonObject) -> JsonObject:
        shown = self._clean(self._secure.masked(value))
        return shown if isinstance(shown, dict) else {}

    def _list(self, value: list[JsonValue]) -> list[JsonValue]:
        shown = self._clean(self._secure.masked(value))
        return shown if isinstance(shown, list) else []

    def _text(self, value: str | None) -> str | None:
        shown = self._clean(self._secure.masked(value))
        return shown if isinstance(shown, str) else None

    def _clean(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return storable(redact(value))
            case list():
                return [self._clean(item) for item in value]
            case dict():
                return {storable(redact(key)): self._clean(item) for key, item in value.items()}
            case _:
                return value
