"""Redis behind a wire that hangs and breaks: answers do not cross, and what was said meanwhile is not lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from redis import Redis

from tests.supervision.test_redis_mirror import server
from tests.supervision.test_registry import info
from tests.support.redis_server import RedisServer
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.supervision.redis_mirror import RedisMirror
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive

__all__ = ["server"]

READS = 50


class Wire:
    """A socket in front of a Redis that can hold its answers back, and be cut."""

    def __init__(self, behind: RedisServer) -> None:
        self.path = behind.folder / "wire.sock"
        self.url = f"unix://{quote(str(self.path))}"
        self.asked = asyncio.Event()
        """Something was asked since the answers are held back."""
        self._behind = str(behind.folder / "redis.sock")
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._pipes: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Server | None = None

    async def open(self) -> None:
        self._listening = await asyncio.start_unix_server(self._accept, self.path)

    def hold(self) -> None:
        self.asked.clear()
        self._flowing.clear()

    def let_go(self) -> None:
        self._flowing.set()

    async def cut(self) -> None:
        assert self._listening is not None
        self._listening.close()
        for pipe in tuple(self._pipes):
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        self.path.unlink(missing_ok=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(self._behind)
        pipes = [
            asyncio.create_task(self._carry(reader, up_writer, answers=False)),
            asyncio.create_task(self._carry(up_reader, writer, answers=True)),
        ]
        self._pipes.update(pipes)
        await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
        self._pipes.difference_update(pipes)
        for end in (writer, up_writer):
            end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        while data := await reader.read(65536):
            if answers:
                await self._flowing.wait()
            writer.write(data)
            await writer.drain()
            if not answers:
                self.asked.set()


@asynccontextmanager
async def wired(server: RedisServer) -> AsyncIterator[Wire]:
    wire = Wire(server)
    await wire.open()
    try:
        yield wire
    finally:
        await wire.cut()


@asynccontextmanager
async def worker(url: str, tmp_path: Path, store: str) -> AsyncIterator[RunRegistry]:
    (tmp_path / store).mkdir(exist_ok=True)
    registry = RunRegistry(StoreAccess(str(tmp_path / store), None), mirror=RedisMirror(url))
    try:
        yield registry
    finally:
        await registry.aclose()


def connections(server: RedisServer) -> int:
    with Redis.from_url(server.url) as client:
        return len(client.client_list()) - 1


async def test_a_read_that_is_cancelled_leaves_its_answer_to_nobody(server, tmp_path):
    """Q01 redis.cancel: no answer goes to the next who asks, and no connection is left behind."""
    async with wired(server) as wire, worker(server.url, tmp_path, "a") as mine:
        reader = RedisMirror(wire.url)
        with mine.register("r1", RunControl(), info()):
            await mine.look()
            assert [run.run_id for run in await reader.live()] == ["r1"]
            before = connections(server)
            for _ in range(5):
                wire.hold()
                read = asyncio.create_task(reader.live())
                async with asyncio.timeout(30):
                    await wire.asked.wait()
                read.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await read
                wire.let_go()
            for number in range(READS):
                if number % 2:
                    assert [run.run_id for run in await reader.live()] == ["r1"]
                else:
                    assert await reader.outcome("nobody knows") is None
            async with asyncio.timeout(30):
                while connections(server) > before:  # the server notices those that were closed a moment later
                    await asyncio.sleep(0.01)
        await reader.aclose()


async def test_an_abort_that_was_said_while_the_wire_was_cut_is_read_when_it_is_back(server, tmp_path, monkeypatch):
    """Q02 redis.pubsub_loss: what is said is kept and read anew, and words wake the process again afterwards."""
    monkeypatch.setattr("tuvl.supervision.redis_mirror.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("tuvl.supervision.redis_mirror.LONGEST_WAIT_S", 0.02)
    monkeypatch.setattr("tuvl.supervision.registry.POLL_S", 3600.0)  # only a word wakes it
    async with (
        wired(server) as wire,
        worker(server.url, tmp_path, "b") as other,
        worker(wire.url, tmp_path, "a") as mine,
    ):
        first, second = RunControl(), RunControl()
        with mine.register("r1", first, info()), mine.register("r2", second, info("r2")):
            await mine.look()
            await wire.cut()
            assert await other.direct("r1", Directive(kind="abort", by="ann"))
            assert not first.aborted
            await wire.open()
            async with asyncio.timeout(30):
                while not first.aborted:  # it subscribed anew, and looked at what had come meanwhile
                    await asyncio.sleep(0.01)
                assert await other.direct("r2", Directive(kind="pause"))
                while not second.paused:
                    await asyncio.sleep(0.01)
            assert first.abort_reason == "aborted by ann"


async def test_a_redis_that_is_not_there_at_all_leaves_the_run_to_its_store(server, tmp_path):
    """Q02 redis.pubsub_loss: without Redis a worker is controlled by those who share its store."""
    server.kill()
    async with worker(server.url, tmp_path, "a") as mine, worker(server.url, tmp_path, "a") as near:
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            assert await near.direct("r1", Directive(kind="abort", by="ann"))
            await mine.look()
            assert control.abort_reason == "aborted by ann"
