"""The store of runs in SQL: written while a run goes, read by `tuvl runs`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Executable,
    Row,
    Select,
    Table,
    and_,
    func,
    insert,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tuvl.data.access_store import AccessStore
from tuvl.data.access_tables import prepare_access
from tuvl.data.binding import bind_storable, storable_text
from tuvl.data.control_store import ControlStore
from tuvl.data.control_tables import interventions, prepare_control
from tuvl.data.engines import WRITES, open_engine
from tuvl.data.event_store import EventStore
from tuvl.data.event_tables import prepare_events
from tuvl.data.faults import answered_in_time
from tuvl.data.lost_runs import LostRunStore
from tuvl.data.reaching import Reached
from tuvl.data.retention import RetentionStore
from tuvl.data.run_marks import RunMarks
from tuvl.data.run_rows import MessageRow, ModelCallRow, Place, Rows, RunFilter, RunRow, ToolCallRow, TraceFilter
from tuvl.data.run_tables import messages, model_calls, prepare, runs, tool_calls
from tuvl.data.sealed_words import kept_result, shown_result, shown_words
from tuvl.principal import ANY, Principal
from tuvl.sealing import Keys
from tuvl.spec.data import Pooling
from tuvl.values import JsonObject, JsonValue, dollars, to_json

_WHAT = "the store of runs"

_LOCK = 7_281_454
"""Key of the PostgreSQL lock under which the tables are made."""

_AT_ONCE = 1000
"""Transactions that may write at once on PostgreSQL, whose pool is what really bounds them."""

OPEN = "open"
"""State of a reply that comes in pieces; of one that was cut off, by a crash for one, it stays."""

VOID = "void"
"""State of a reply that came in pieces and began anew."""

UNANSWERED = "unanswered"
"""Verdict of a judge that could not be asked: such a call used nothing that is known."""

QUEUED = "queued"
"""Status of a run that is on record before any process has taken it."""

RUNNING = "running"
"""Status of a run that has not said yet how it ended; of one whose process died it stays."""


class RunStore:
    """One store; it is kept open by an engine, and closed in the event loop it was used in."""

    def __init__(self, url: URL, *, elsewhere: str, keys: Keys) -> None:
        """Wire the store at `url`; `elsewhere` tells people how to have it somewhere else, `keys` encrypt words."""
        self._keys = keys
        reached = Reached(what=_WHAT, elsewhere=elsewhere)
        self._opened = open_engine(url, Pooling(), reached, as_json=storable_text)
        self._engine: AsyncEngine = self._opened.engine
        bind_storable(self._engine.sync_engine)
        self._writing = self._engine.execution_options(**{WRITES: True})
        self._lock = asyncio.Lock()
        # SQLite has one writer at a time, and those who find it taken sleep for longer and longer: in this process they
        # queue up instead.
        self._turn = asyncio.Semaphore(1 if self._engine.dialect.name == "sqlite" else _AT_ONCE)
        self._ready = False
        dialect = self._engine.dialect.name
        self._marks = RunMarks(self._transaction, dialect)
        self.control = ControlStore(self._prepared, self._rows, dialect, keys, running=RUNNING, queued=QUEUED)
        """Runs that go on, and what they are told."""
        self.access = AccessStore(self._prepared, self._rows, dialect)
        """API tokens of the server, and keys under which it started runs."""
        self.events = EventStore(self._prepared, self._rows, dialect, keys)
        """Events of durable runs, for those who watch from other processes."""
        self.lost = LostRunStore(self._prepared, self._rows, dialect, running=RUNNING, queued=QUEUED)
        """Runs that have ended with their process, and do not know."""
        self.retention = RetentionStore(self._prepared, self._rows)
        """Runs that ended long ago."""

    async def aclose(self) -> None:
        """Close every connection."""
        await self._marks.aclose()
        await self._opened.aclose()

    # ---- writing -----------------------------------------------------------------------------------------------

    async def ready(self) -> None:
        """See that the store can be written; raises `StepError` when it cannot."""
        await self._prepare()

    async def begin(self, run: RunRow) -> None:
        """Keep that a run began."""
        async with answered_in_time(_WHAT):
            await self._prepare()
            await self._marks.begin(run, RUNNING)

    async def queued(self, run: RunRow) -> None:
        """Keep that a run is to begin as soon as a process takes it; one that is known stays as it is."""
        async with answered_in_time(_WHAT):
            await self._prepare()
            await self._marks.queue(run, QUEUED)

    async def suspended_since(self, run_id: str) -> datetime | None:
        """Return since when a run waits for somebody; `None` for one that does not."""
        return await self._marks.suspended_since(run_id)

    async def requeue(self, run_id: str, *, was: str, since: datetime | None = None) -> None:
        """Keep that a run goes on as soon as a process takes it, if its status is what it was, and `since` when."""
        await self._marks.requeue(run_id, QUEUED, was=was, since=since)

    async def reopen(self, run: RunRow) -> None:
        """Keep that a run goes on which began before, and that it began where even that is not kept."""
        await self._prepare()
        await self._marks.reopen(run, RUNNING)

    async def finish(self, run_id: str, *, status: str, signal: str | None, at: datetime, result: JsonValue) -> None:
        """Keep how a run ended."""
        kept = kept_result(run_id, result, self._keys)
        async with answered_in_time(_WHAT):
            await self._marks.finish(run_id, status=status, signal=signal, at=at, result=kept)

    async def model_call(self, run_id: str, row: ModelCallRow) -> int:
        """Keep a model call; returns its number."""
        values = {
            **_place(run_id, row.place),
            "model": row.model,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "total_tokens": row.total_tokens,
            "cached_input_tokens": row.cached_input_tokens,
            "cost_usd": row.cost_usd,
            "estimated": row.estimated,
            "duration_ms": row.duration_ms,
            "audited": row.audited,
        }
        if row.beside is not None:
            beside = row.beside
            values |= {"purpose": beside.purpose, "artifact": beside.artifact, "site": beside.site}
            values |= {"verdict": beside.verdict, "error_type": beside.error_type}
        if row.reply is not None:
            values |= {
                "request_digest": row.reply.request_digest,
                "request_messages": row.reply.request_messages,
                "content": row.reply.content,
                "tool_calls": row.reply.tool_calls or None,
                "thinking": row.reply.thinking or None,
                "finish_reason": row.reply.finish_reason,
            }
        async with self._transaction() as connection:
            added = await connection.execute(insert(model_calls).values(values).returning(model_calls.c.number))
            return int(added.scalar_one())

    async def tool_call(self, run_id: str, row: ToolCallRow, *, model_call: int | None) -> None:
        """Keep an answered tool call, behind the model call of that number."""
        values = {
            **_place(run_id, row.place),
            "model_call": model_call,
            "call_id": row.call_id,
            "tool": row.tool,
            "arguments": row.arguments,
            "problem": row.problem,
            "signal": row.signal,
            "content": row.content,
            "size": row.size,
            "truncated": row.truncated,
            "duplicate": row.duplicate,
            "error_type": row.error_type,
            "error_message": row.error_message,
            "duration_ms": row.duration_ms,
        }
        await self._add(tool_calls, [values])

    async def messages(self, run_id: str, place: Place, rows: Sequence[MessageRow]) -> None:
        """Append messages to a conversation, all of them or none."""
        shared = _place(run_id, place)
        values = [
            {
                **shared,
                "role": row.role,
                "content": row.content,
                "tool_calls": row.tool_calls or None,
                "tool_call_id": row.tool_call_id,
                "name": row.name,
            }
            for row in rows
        ]
        await self._add(messages, values)

    async def open_message(self, run_id: str, place: Place) -> int:
        """Begin a reply that comes in pieces; returns its number, which keeps its place in the conversation."""
        values = {**_place(run_id, place), "role": "assistant", "content": "", "state": OPEN}
        async with self._transaction() as connection:
            added = await connection.execute(insert(messages).values(values).returning(messages.c.number))
            return int(added.scalar_one())

    async def rewrite_message(
        self, number: int, *, content: str | None, tool_calls: Sequence[JsonValue] = (), state: str | None
    ) -> None:
        """Keep what an open reply says by now, and whether that is all; `None` is the state of a whole one."""
        values = {"content": content, "tool_calls": list(tool_calls) or None, "state": state}
        async with self._transaction() as connection:
            await connection.execute(update(messages).where(messages.c.number == number).values(values))

    async def void_message(self, number: int) -> None:
        """Keep that nothing came of an open reply."""
        async with self._transaction() as connection:
            await connection.execute(update(messages).where(messages.c.number == number).values(state=VOID))

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        async with answered_in_time(_WHAT), self._turn, self._writing.begin() as connection:
            yield connection

    async def _add(self, table: Table, values: Sequence[Mapping[str, object]]) -> None:
        async with self._transaction() as connection:
            await connection.execute(insert(table), list(values))

    async def _prepare(self) -> None:
        async with answered_in_time(_WHAT), self._lock:
            if self._ready:
                return
            async with self._transaction() as connection:
                if connection.dialect.name == "postgresql":
                    await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                for make in (prepare, prepare_control, prepare_access, prepare_events):
                    await connection.run_sync(make)
            self._ready = True

    @asynccontextmanager
    async def _prepared(self) -> AsyncIterator[AsyncConnection]:
        await self._prepare()
        async with self._transaction() as connection:
            yield connection

    # ---- reading -----------------------------------------------------------------------------------------------

    async def reach(self) -> None:
        """See that the store answers just now; raises `StepError` when it does not."""
        await self._rows(select(true()))

    async def listed(self, asked: RunFilter, reader: Principal) -> Rows:
        """Return the runs that the reader may see, newest first."""
        query = select(runs).where(*_visible(reader)).order_by(runs.c.started_at.desc(), runs.c.run_id)
        for column, wanted in (
            (runs.c.workflow, asked.workflow),
            (runs.c.status, asked.status),
            (runs.c.principal, asked.principal),
        ):
            if wanted is not None:
                query = query.where(column == wanted)
        if asked.before is not None:
            at, id = asked.before
            query = query.where(or_(runs.c.started_at < at, and_(runs.c.started_at == at, runs.c.run_id > id)))
        if asked.conversation is not None:
            inside = select(messages.c.run_id).where(messages.c.conversation == asked.conversation)
            query = query.where(runs.c.run_id.in_(inside))
        return [_summary(row, self._keys) for row in await self._rows(query.limit(asked.limit))]

    async def show(self, run_id: str, reader: Principal) -> JsonObject | None:
        """Return one run whole; `None` when it is not there or not the reader's to see."""
        found = await self._rows(select(runs).where(runs.c.run_id == run_id, *_visible(reader)))
        if not found:
            return None
        row = found[0]._mapping
        return {
            **_summary(found[0], self._keys),
            "result": shown_result(run_id, row["result"], self._keys),
            "conversations": await self._conversations(run_id, row["tenant"]),
        }

    async def trace(self, run_id: str, asked: TraceFilter) -> Rows:
        """Return the audited calls of a run, each model call followed by the tool calls it asked for.

        Replies that came in pieces and never to an end stand where they were begun.
        """
        entries: list[tuple[int, int, JsonObject]] = []
        if asked.tool is None:
            query = select(model_calls).where(model_calls.c.run_id == run_id, model_calls.c.audited.is_(True))
            for row in await self._rows(_of_step(query, model_calls, asked)):
                kind = f"{row._mapping['purpose'] or 'model'}_call"
                entries.append((row._mapping["number"], 0, _entry(kind, row, _HIDDEN_OF_MODEL_CALLS)))
            entries += await self._placed("unfinished_reply", messages, messages.c.state.is_not(None), run_id, asked)
            entries += await self._placed("intervention", interventions, true(), run_id, asked)
        query = select(tool_calls).where(tool_calls.c.run_id == run_id)
        if asked.tool is not None:
            query = query.where(tool_calls.c.tool == asked.tool)
        for row in await self._rows(_of_step(query, tool_calls, asked)):
            called = row._mapping
            entry = _entry("tool_call", row, _HIDDEN_OF_TOOL_CALLS)
            entries.append((called["model_call"] or 0, called["number"], entry))
        return [entry for _, _, entry in sorted(entries, key=lambda each: each[:2])]

    async def _placed(
        self, type: str, table: Table, wanted: ColumnElement[bool], run_id: str, asked: TraceFilter
    ) -> list[tuple[int, int, JsonObject]]:
        """Return what stands in the trace by its time: behind the model call before it, and what that asked for."""
        before = (
            select(func.max(model_calls.c.number))
            .where(model_calls.c.run_id == run_id, model_calls.c.at <= table.c.at)
            .correlate(table)
            .scalar_subquery()
        )
        query = select(table, before.label("after")).where(table.c.run_id == run_id, wanted).order_by(table.c.number)
        found = await self._rows(_of_step(query, table, asked))
        # What a person did is about the run, and at no step of it.
        whole: JsonObject = {"step_id": None, "iteration": None}
        entries = ((row, whole | _entry(type, row, _HIDDEN_OF_PLACED)) for row in found)
        if table is interventions:
            keys = self._keys
            entries = ((row, entry | shown_words(run_id, row._mapping["id"], entry, keys)) for row, entry in entries)
        return [(row._mapping["after"] or 0, _LAST, entry) for row, entry in entries]

    async def conversation(self, id: str, reader: Principal) -> Rows:
        """Return the messages of a conversation, oldest first, of the runs that the reader may see."""
        query = (
            select(messages)
            .join(runs, runs.c.run_id == messages.c.run_id)
            .where(messages.c.conversation == id, *_visible(reader))
            .order_by(messages.c.number)
        )
        return [_entry("message", row, _HIDDEN_OF_MESSAGES) for row in await self._rows(query)]

    async def _conversations(self, run_id: str, tenant: str | None) -> list[JsonValue]:
        """Sum up the conversations that a run took part in, over all runs of its tenant."""
        mine = select(messages.c.conversation).where(messages.c.run_id == run_id).distinct()
        same = runs.c.tenant.is_(None) if tenant is None else runs.c.tenant == tenant
        counts = (
            select(messages.c.conversation, func.count().label("messages"))
            .join(runs, runs.c.run_id == messages.c.run_id)
            .where(messages.c.conversation.in_(mine), messages.c.state.is_(None), same)
            .group_by(messages.c.conversation)
        )
        used = (
            select(
                model_calls.c.conversation,
                func.count().label("llm_calls"),
                *(func.sum(model_calls.c[name]).label(name) for name in _SUMMED),
                func.count(model_calls.c.cost_usd).label("priced"),
                func.max(model_calls.c.estimated.cast(model_calls.c.iteration.type)).label("estimated"),
            )
            .join(runs, runs.c.run_id == model_calls.c.run_id)
            .where(model_calls.c.conversation.in_(mine), _answered(), same)
            .group_by(model_calls.c.conversation)
        )
        usage = {row._mapping["conversation"]: _usage(row) for row in await self._rows(used)}
        return [
            {
                "id": row._mapping["conversation"],
                "messages": row._mapping["messages"],
                "usage": usage.get(row._mapping["conversation"]),
            }
            for row in await self._rows(counts.order_by(messages.c.conversation))
        ]

    async def _rows(self, query: Executable) -> Sequence[Row[tuple[object, ...]]]:
        await self._prepare()
        async with answered_in_time(_WHAT), self._engine.connect() as connection:
            return (await connection.execute(query)).all()


_SUMMED = ("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "cost_usd")
_HIDDEN_OF_MODEL_CALLS = frozenset({"number", "run_id", "audited"})
_HIDDEN_OF_TOOL_CALLS = frozenset({"number", "run_id", "model_call"})
_HIDDEN_OF_MESSAGES = frozenset({"number", "conversation"})
_HIDDEN_OF_PLACED = frozenset({"number", "id", "run_id", "role", "after"})
_LAST = sys.maxsize
"""Puts a reply that was begun after a model call behind all that this call asked for."""


def _answered() -> ColumnElement[bool]:
    return or_(model_calls.c.verdict.is_(None), model_calls.c.verdict != UNANSWERED)


def _visible(reader: Principal) -> list[ColumnElement[bool]]:
    """Who has every scope sees every run, anybody else those of their tenant."""
    if ANY in reader.scopes:
        return []
    return [runs.c.tenant.is_(None) if reader.tenant is None else runs.c.tenant == reader.tenant]


def _of_step(query: Select[tuple[object, ...]], table: Table, asked: TraceFilter) -> Select[tuple[object, ...]]:
    return query if asked.step is None else query.where(table.c.step_id == asked.step)


def _place(run_id: str, place: Place) -> dict[str, object]:
    return {
        "run_id": run_id,
        "step_id": place.step_id,
        "iteration": place.iteration,
        "at": place.at,
        "conversation": place.conversation,
    }


def _summary(row: Row[tuple[object, ...]], keys: Keys) -> JsonObject:
    run = row._mapping
    opened = shown_result(str(run["run_id"]), run["result"], keys)
    result = opened if isinstance(opened, dict) else {}
    summary = {name: run[name] for name in ("run_id", "workflow", "schema_version", "status", "signal")}
    summary |= {name: run[name] for name in ("principal", "tenant", "started_at", "finished_at")}
    summary |= {name: result.get(name) for name in ("duration_ms", "usage", "error")}
    shown = to_json(summary)
    return shown if isinstance(shown, dict) else {}


def _entry(type: str, row: Row[tuple[object, ...]], hidden: frozenset[str]) -> JsonObject:
    kept = {name: value for name, value in row._mapping.items() if name not in hidden and value is not None}
    if "cost_usd" in kept:
        kept["cost_usd"] = dollars(kept["cost_usd"])
    shown = to_json(kept)
    return {"type": type, **shown} if isinstance(shown, dict) else {}


def _usage(row: Row[tuple[object, ...]]) -> JsonObject:
    summed = row._mapping
    usage: JsonObject = {name: int(summed[name] or 0) for name in _SUMMED if name != "cost_usd"}
    # One call without a known price makes the sum unknown, never smaller.
    known = summed["priced"] == summed["llm_calls"]
    return {
        "llm_calls": summed["llm_calls"],
        **usage,
        "cost_usd": dollars(summed["cost_usd"]) if known else None,
        "estimated": bool(summed["estimated"]),
    }
