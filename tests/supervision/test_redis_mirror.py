"""Runs seen and controlled over Redis by processes with other stores; Redis killed and started again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from tests.supervision.test_registry import FRIEND, STRANGER, Unwatched, info
from tests.support.redis_server import RedisServer
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.errors import ConfigError
from tuvl.settings import Settings, load_settings
from tuvl.supervision.opening import open_registry
from tuvl.supervision.redis_mirror import RedisMirror, _directive
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive
from tuvl.values import dump_json


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    # One that is slow to answer is there all the same: here it is either that, or killed, or cut off.
    monkeypatch.setattr("tuvl.supervision.redis_mirror.ANSWER_S", 30.0)
    made = RedisServer()
    made.start()
    yield made
    made.close()


@asynccontextmanager
async def workers(
    server: RedisServer, tmp_path: Path, *stores: str, kind: type[RunRegistry] = RunRegistry
) -> AsyncIterator[list[RunRegistry]]:
    """A registry for each store, all on one Redis."""
    made = []
    for store in stores:
        (tmp_path / store).mkdir(exist_ok=True)
        made.append(kind(StoreAccess(str(tmp_path / store), None), mirror=RedisMirror(server.url)))
    try:
        yield made
    finally:
        for each in made:
            await each.aclose()


async def test_a_run_is_seen_and_told_by_a_worker_with_another_store(server, tmp_path):
    async with workers(server, tmp_path, "a", "b") as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            (seen,) = await other.live()
            assert (seen.run_id, seen.owner, seen.alive) == ("r1", mine.owner, True)
            directive = Directive(kind="pause", by="ann")
            assert await other.direct("r1", directive)
            assert await other.direct("r1", directive)
            await mine.look()
            assert control.paused
            found = await other.settled(directive.id)
            assert (found.outcome, found.note) == ("applied", None)
            await mine.look()
            assert (await other.get("r1")).paused
        await mine.look()
        assert await other.live() == []


async def test_what_workers_of_both_kinds_say_is_done_once_each(server, tmp_path):
    async with workers(server, tmp_path, "a", "a", "b") as (mine, near, far):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            for number in range(3):
                assert await near.direct("r1", Directive(kind="steer", message=f"near {number}"))
                assert await far.direct("r1", Directive(kind="steer", message=f"far {number}"))
            await mine.look()
            await mine.look()
            said = await control.checkpoint()
            assert sorted(said) == ["far 0", "far 1", "far 2", "near 0", "near 1", "near 2"]
            assert [each for each in said if each.startswith("far")] == ["far 0", "far 1", "far 2"]


async def test_a_run_of_another_tenant_is_not_there_over_redis_either(server, tmp_path):
    async with workers(server, tmp_path, "a", "b") as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            assert await other.live(STRANGER) == []
            assert not await other.direct("r1", Directive(kind="abort"), STRANGER)
            assert await other.direct("r1", Directive(kind="pause"), FRIEND)
            await mine.look()
            assert (control.paused, control.aborted) == (True, False)


async def test_a_word_over_redis_wakes_the_process_that_has_the_run(server, tmp_path, monkeypatch):
    monkeypatch.setattr("tuvl.supervision.registry.POLL_S", 3600.0)
    async with workers(server, tmp_path, "a", "b") as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            async with asyncio.timeout(30):
                assert await other.direct("r1", Directive(kind="pause"))
                while not control.paused:
                    await asyncio.sleep(0.01)


async def test_redis_lost_and_found_again_harms_nothing(server, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("tuvl.supervision.redis_mirror.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("tuvl.supervision.redis_mirror.LONGEST_WAIT_S", 0.02)
    monkeypatch.setattr("tuvl.supervision.registry.BEAT_S", 0.0)
    caplog.set_level(logging.WARNING, logger="tuvl.supervision")
    async with workers(server, tmp_path, "a", "a", "b") as (mine, near, far):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            assert len(await far.live()) == 1
            server.kill()
            assert await far.live() == []
            assert not await far.direct("r1", Directive(kind="abort"))
            # The store that both share is enough.
            assert await near.direct("r1", Directive(kind="pause"))
            await mine.look()
            assert control.paused
            server.start()
            async with asyncio.timeout(30):
                while not await far.live():
                    await asyncio.sleep(0.02)
                    await mine.look()
            directive = Directive(kind="resume")
            async with asyncio.timeout(30):
                while not await far.direct("r1", directive):
                    await asyncio.sleep(0.02)
            await mine.look()
            assert not control.paused
    told = [record.message for record in caplog.records]
    assert sum("Redis cannot be reached" in message for message in told) <= 3  # once for each of the three
    assert "Redis is there again" in told


async def test_what_a_run_is_told_after_redis_was_emptied_is_not_taken_away_unread(server, tmp_path):
    """What was read before is taken away when it is kept; by then it may be another Redis, with other words in it."""
    async with workers(server, tmp_path, "a", "b", kind=Unwatched) as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            assert await other.direct("r1", Directive(kind="steer", message="before"))
            keep = mine.access.store.control.direct

            async def kept(row) -> None:
                await keep(row)
                if row.message == "before":
                    with Redis.from_url(server.url) as client:
                        client.flushall()
                        client.rpush("tuvl:told:r1", dump_json(_directive(replace(row, id="d2", message="after"))))

            mine.access.store.control.direct = kept
            await mine.look()
            await mine.look()
            assert await control.checkpoint() == ["before", "after"]


async def test_nothing_is_kept_in_memory_of_runs_that_were_told_nothing(server, tmp_path):
    async with workers(server, tmp_path, "a") as (mine,):
        for number in range(5):
            with mine.register(f"r{number}", RunControl(), info(f"r{number}")):
                await mine.look()
        await mine.look()
        assert not mine._mirror._read


async def test_what_a_run_was_told_too_late_over_redis_is_void(server, tmp_path):
    async with workers(server, tmp_path, "a", "b", kind=Unwatched) as (mine, other):
        with mine.register("r1", RunControl(), info()):
            await mine.look()
            late = Directive(kind="pause")
            assert await other.direct("r1", late)
        await mine.look()
        assert (await other.settled(late.id)).outcome == "void"


async def test_what_somebody_else_wrote_into_redis_is_passed_over(server, tmp_path):
    async with workers(server, tmp_path, "a", "b") as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            with Redis.from_url(server.url) as client:
                client.sadd("tuvl:live", "odd", "gone")
                client.set("tuvl:run:odd", "[1]")
                client.rpush("tuvl:told:r1", "nonsense", '{"kind": "explode"}')
            assert [each.run_id for each in await other.live()] == ["r1"]
            assert await other.direct("r1", Directive(kind="pause"))
            await mine.look()
            assert control.paused


def test_a_url_that_is_none_is_refused_without_being_shown(tmp_path):
    for text in ("localhost:6379", "http://:geheim@x"):
        with pytest.raises(ConfigError, match="TUVL_REDIS_URL is no URL of a Redis") as caught:
            load_settings({"TUVL_REDIS_URL": text})
        assert "geheim" not in str(caught.value)
    with pytest.raises(ConfigError, match="TUVL_REDIS_URL"):
        open_registry(str(tmp_path), Settings(redis_url="redis://localhost:port/0"))


async def test_without_a_url_there_is_no_mirror(tmp_path):
    registry = open_registry(str(tmp_path), load_settings({}))
    assert await registry.live() == []
    await registry.aclose()
