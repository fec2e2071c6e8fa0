"""Live runs and what they are told, in Redis: for processes that share a Redis, and no store of runs.

The store of runs stays the record. What goes on is shown here again with every sign of life, and what a run is told is
kept in a list until its process has put it into its own store. So a Redis that is lost, or comes back empty, loses
nothing but what was said to runs of other stores in that moment; whoever said it is told that nobody has read it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar, cast, get_args

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tuvl.control import ControlAction
from tuvl.data.control_rows import DirectiveRow, Outcome, Settled
from tuvl.redaction import redact
from tuvl.supervision.runs import DEAD_S, RunInfo
from tuvl.values import JsonObject, dump_json

Answer = TypeVar("Answer")

FIRST_WAIT_S = 0.5
"""Seconds that a Redis that could not be reached is left alone; they double up to `LONGEST_WAIT_S`."""

LONGEST_WAIT_S = 10.0

ANSWER_S = 2.0
"""Longest time for one answer, in seconds: a Redis that hangs is one that is not there."""

KEPT_S = 24 * 3600
"""How long what a run is told is kept, and what became of it, in seconds."""

_LIVE = "tuvl:live"
_log = logging.getLogger("tuvl.supervision")


class RedisMirror:
    """The Redis of one registry. No method raises because of Redis; what it cannot know then, it leaves out."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            # We wait between attempts ourselves: a run must not wait for Redis.
            retry=Retry(NoBackoff(), 0),
        )
        self._down_until = 0.0
        self._pause_s = 0.0
        self._told = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None
        self._read: dict[str, list[str]] = {}
        """What was read of what a run was told and is not taken yet, entries that make no sense included."""

    # ---- the process that has the runs ---------------------------------------------------------------------------

    async def show(self, owner: str, runs: Sequence[RunInfo], ended: Sequence[str]) -> None:
        """Show what goes on here, and take away what has ended; what that was told too late is void."""
        if self._listener is None and runs:
            self._listener = asyncio.create_task(self._listen(owner), name="tuvl-redis")

        async def write() -> None:
            for _, _, rows in await self._lists(ended):
                for row in rows:
                    await self._settle(row.id, Settled(outcome="void", note="the run ended before it was read"))
            async with self._redis.pipeline(transaction=False) as pipe:
                for run in runs:
                    pipe.set(_run_key(run.run_id), dump_json(_info(run)), px=int(DEAD_S * 1000))
                    pipe.sadd(_LIVE, run.run_id)
                if ended:
                    pipe.srem(_LIVE, *ended)
                    pipe.delete(*map(_run_key, ended), *map(_told_key, ended))
                await pipe.execute()

        if runs or ended:
            await self._try(write, None)

    async def brought(self, run_ids: Sequence[str]) -> list[DirectiveRow]:
        """Return what was said to runs and is not taken yet, in order."""

        async def read() -> list[DirectiveRow]:
            found = await self._lists(run_ids)
            self._read = {run_id: texts for run_id, texts, rows in found if rows}
            return [row for _, _, rows in found for row in rows]

        return await self._try(read, [])

    async def took(self, rows: Sequence[DirectiveRow]) -> None:
        """Take away what is in the store of runs now."""

        async def take_away() -> None:
            # Each by what it says, and not so many: a Redis that came back empty holds others by now.
            async with self._redis.pipeline(transaction=False) as pipe:
                for run_id in {row.run_id for row in rows}:
                    for text in self._read.pop(run_id, ()):
                        pipe.lrem(_told_key(run_id), 1, text)
                await pipe.execute()

        await self._try(take_away, None)

    async def settled(self, id: str, found: Settled) -> None:
        """Show what became of a directive."""
        await self._try(lambda: self._settle(id, found), None)

    async def wait(self) -> None:
        """Wait until somebody says something to a run of this process; for ever while Redis is not there."""
        await self._told.wait()
        self._told.clear()

    # ---- anybody -------------------------------------------------------------------------------------------------

    async def live(self) -> list[RunInfo]:
        """Return the runs that go on; those of a process that died are gone after a while."""

        async def read() -> list[RunInfo]:
            ids = sorted(map(str, await self._redis.smembers(_LIVE)))
            if not ids:
                return []
            async with self._redis.pipeline(transaction=False) as pipe:
                for run_id in ids:
                    pipe.get(_run_key(run_id))
                    pipe.pttl(_run_key(run_id))
                answers = await pipe.execute()
            found = list(zip(ids, answers[::2], answers[1::2], strict=True))
            gone = [run_id for run_id, text, _ in found if text is None]
            if gone:
                await self._redis.srem(_LIVE, *gone)
            shown = (_read_info(text, left) for _, text, left in found if text is not None)
            return [info for info in shown if info is not None]

        return await self._try(read, [])

    async def tell(self, row: DirectiveRow, owner: str) -> bool:
        """Keep what a run is told for the process that has it, and wake that; `False` when Redis is not there."""

        async def write() -> bool:
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.rpush(_told_key(row.run_id), dump_json(_directive(row)))
                pipe.expire(_told_key(row.run_id), KEPT_S)
                pipe.publish(_wake_channel(owner), row.run_id)
                await pipe.execute()
            return True

        return await self._try(write, False)

    async def wake(self, owner: str) -> None:
        """Let a process look at once at what its store has for it."""
        await self._try(lambda: self._redis.publish(_wake_channel(owner), ""), 0)

    async def outcome(self, id: str) -> Settled | None:
        """Return what became of a directive, when that is known here."""

        async def read() -> Settled | None:
            text = await self._redis.get(_outcome_key(id))
            if text is None:
                return None
            data = json.loads(text)
            return Settled(outcome=cast(Outcome, data["outcome"]), note=data["note"])

        return await self._try(read, None)

    async def aclose(self) -> None:
        """Let go of connections."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        await self._redis.aclose()

    # ---- pieces --------------------------------------------------------------------------------------------------

    async def _try(self, ask: Callable[[], Awaitable[Answer]], otherwise: Answer) -> Answer:
        """Ask Redis; one that does not answer is left alone for a while, and the run goes on without it."""
        if time.monotonic() < self._down_until:
            return otherwise
        try:
            async with asyncio.timeout(2 * ANSWER_S):
                answer = await ask()
        except (RedisError, OSError, TimeoutError) as error:
            self._lost(error)
            return otherwise
        self._found()
        return answer

    def _lost(self, error: Exception) -> None:
        if not self._pause_s:
            said = redact(str(error)) or type(error).__name__
            _log.warning("Redis cannot be reached, and runs are controlled by the store of runs alone: %s", said)
        self._pause_s = min(max(FIRST_WAIT_S, 2 * self._pause_s), LONGEST_WAIT_S)
        self._down_until = time.monotonic() + self._pause_s

    def _found(self) -> None:
        if self._pause_s:
            _log.warning("Redis is there again")
        self._pause_s = self._down_until = 0.0

    async def _listen(self, owner: str) -> None:
        pause = FIRST_WAIT_S
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(_wake_channel(owner))
                    self._told.set()  # what came while nobody listened
                    while True:
                        if await channel.get_message(timeout=ANSWER_S / 2) is not None:
                            self._told.set()
                        pause = FIRST_WAIT_S
            except (RedisError, OSError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_WAIT_S)

    async def _lists(self, run_ids: Sequence[str]) -> list[tuple[str, list[str], list[DirectiveRow]]]:
        """Return what runs are told: the entries as they stand there, and what makes sense of them."""
        if not run_ids:
            return []
        async with self._redis.pipeline(transaction=False) as pipe:
            for run_id in run_ids:
                pipe.lrange(_told_key(run_id), 0, -1)
            answers: list[list[str]] = await pipe.execute()
        rows = ([row for row in map(_read_directive, texts) if row is not None] for texts in answers)
        return list(zip(run_ids, answers, rows, strict=True))

    async def _settle(self, id: str, found: Settled) -> None:
        text = dump_json({"outcome": found.outcome, "note": found.note})
        await self._redis.set(_outcome_key(id), text, ex=KEPT_S)


def _run_key(run_id: str) -> str:
    return f"tuvl:run:{run_id}"


def _told_key(run_id: str) -> str:
    return f"tuvl:told:{run_id}"


def _outcome_key(id: str) -> str:
    return f"tuvl:outcome:{id}"


def _wake_channel(owner: str) -> str:
    return f"tuvl:wake:{owner}"


def _info(run: RunInfo) -> JsonObject:
    return {
        "run_id": run.run_id,
        "workflow": run.workflow,
        "schema_version": run.schema_version,
        "principal": run.principal,
        "tenant": run.tenant,
        "started_at": run.started_at.isoformat(),
        "owner": run.owner,
        "paused": run.paused,
    }


def _read_info(text: str, left_ms: int) -> RunInfo | None:
    """Read what is shown of a run; `None` for what no tuvl has written."""
    try:
        data = json.loads(text)
        data["started_at"] = datetime.fromisoformat(data["started_at"])
        return RunInfo(**data, age_s=max(0.0, DEAD_S - left_ms / 1000) if left_ms > 0 else 0.0)
    except (ValueError, TypeError, KeyError):
        return None


def _directive(row: DirectiveRow) -> JsonObject:
    return {
        "id": row.id,
        "run_id": row.run_id,
        "kind": row.kind,
        "message": row.message,
        "by": row.by,
        "at": row.at.isoformat(),
    }


def _read_directive(text: str | bytes) -> DirectiveRow | None:
    """Read what a run is told; `None` for what no tuvl has written."""
    try:
        data = json.loads(text)
        if data["kind"] not in get_args(ControlAction):
            return None
        return DirectiveRow(
            id=str(data["id"]),
            run_id=str(data["run_id"]),
            kind=data["kind"],
            message=str(data["message"]),
            by=str(data["by"]),
            at=datetime.fromisoformat(data["at"]),
        )
    except (ValueError, TypeError, KeyError):
        return None
