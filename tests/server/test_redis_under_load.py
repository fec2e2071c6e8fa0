"""Redis killed, frozen and started again while servers have many runs: no run is harmed, and no word is heard twice."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
from redis import Redis

from tests.server.server_support import events_of, serving, shop
from tests.support.gates import opened, reached
from tests.support.redis_server import RedisServer

BLOWS, LIVE = (60, 40) if os.environ.get("TUVL_SOAK") else (3, 6)
"""How often something happens to Redis, and how many runs go on at any time."""

LULL_S = 8.0 if BLOWS > 3 else 1.5
"""Longest time without a blow, in seconds."""


@dataclass(kw_only=True)
class Load:
    """Runs of one server, told things by it, by one that shares its store, and by one that shares only Redis."""

    mine: httpx.AsyncClient
    near: httpx.AsyncClient
    far: httpx.AsyncClient
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    runs: int = 0
    over: bool = False
    answers: Counter[str] = field(default_factory=Counter)
    """How often the far server had a word carried out, kept for later, or saw no such run."""

    async def go_on(self) -> None:
        while not self.over:
            self.runs += 1
            await self.one(f"gate {self.runs}")

    async def one(self, gate: str) -> None:
        body = {"workflow": "gated", "input": {"gate": gate}, "mode": "detached", "durable": False}
        run_id = (await self.mine.post("/api/runs", json=body)).json()["run_id"]
        await reached(gate)
        async with asyncio.timeout(60):
            while (await self.near.get(f"/api/agents/{run_id}")).status_code != 200:
                await asyncio.sleep(0.1)
        surely, perhaps = await self.told(run_id)
        aborted = self.dice.random() < 0.3
        if aborted:
            answer = await self.near.post(f"/api/agents/{run_id}/abort", json={"message": "enough"})
            assert answer.status_code == 200, answer.text
        else:
            opened(gate)
        async with self.mine.stream("GET", f"/api/runs/{run_id}/events") as stream:
            await events_of(stream)
        document = (await self.mine.get(f"/api/runs/{run_id}")).json()
        assert document["status"] == ("aborted" if aborted else "completed"), document["error"]
        entries = (await self.mine.get(f"/api/runs/{run_id}/trace")).json()["entries"]
        heard = Counter(entry["message"] for entry in entries if entry.get("action") == "steer")
        assert set(heard.values()) <= {1}, "nothing is heard twice"
        assert surely <= set(heard), "what was said to be carried out was"
        assert set(heard) <= surely | perhaps

    async def told(self, run_id: str) -> tuple[set[str], set[str]]:
        """Tell a run things; returns what it surely hears, and what it may."""
        surely, perhaps = set(), set()
        for number in range(6):
            who = self.dice.choice((self.mine, self.near, self.far, self.far))
            said = f"{number}"
            answer = await who.post(f"/api/agents/{run_id}/steer", json={"message": said})
            outcome = answer.json()["outcome"] if answer.status_code == 200 else str(answer.status_code)
            if who is self.far:
                self.answers[outcome] += 1
                assert outcome in {"applied", "pending", "404"}, answer.text
            else:
                assert outcome in {"applied", "pending"}, answer.text
            (surely if outcome == "applied" else perhaps).add(said)
        return surely, perhaps


async def struck(redis: RedisServer, dice: random.Random) -> None:
    """Kill Redis and start it again empty, or have it answer nobody for a while."""
    await asyncio.sleep(dice.uniform(0.05, LULL_S))  # the moment is what is random here
    if dice.random() < 0.7:
        redis.kill()
        await asyncio.sleep(dice.uniform(0.0, 1.0))
        await asyncio.to_thread(redis.start)
        return
    assert redis.process is not None
    redis.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(dice.uniform(0.0, 3.0))
    redis.process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def three_servers(tmp_path: Path, redis: RedisServer) -> AsyncIterator[Load]:
    async with AsyncExitStack() as stack:
        servers = []
        for folder, store in (("mine", "a"), ("near", "a"), ("far", "b")):
            (tmp_path / folder).mkdir()
            project = shop(tmp_path / folder)
            url = f"sqlite:///{tmp_path / store}.db"
            settings = replace(project.settings, database_url=url, redis_url=redis.url)
            servers.append(await stack.enter_async_context(serving(project, settings=settings, burst=1000)))
        mine, near, far = [await server.client() for server in servers]
        yield Load(mine=mine, near=near, far=far)


async def test_redis_killed_or_frozen_under_load_ends_no_run_and_has_no_word_heard_twice(tmp_path):
    redis, dice = RedisServer(), random.Random(11)
    redis.start()
    try:
        async with three_servers(tmp_path, redis) as load:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(LIVE):
                    tasks.create_task(load.go_on())
                for _ in range(BLOWS):
                    await struck(redis, dice)
                load.over = True
            print(f"{load.runs} runs, {BLOWS} blows, the far server: {dict(load.answers)}")
            await seen_again(load)
            with Redis.from_url(redis.url) as client:
                async with asyncio.timeout(60):
                    while client.smembers("tuvl:live"):
                        await load.far.get("/api/agents")
                        await asyncio.sleep(0.1)
    finally:
        redis.close()


async def seen_again(load: Load) -> None:
    """Once Redis is there for good, the far server sees a run and has it do what it says."""
    body = {"workflow": "gated", "input": {"gate": "last"}, "mode": "detached", "durable": False}
    run_id = (await load.mine.post("/api/runs", json=body)).json()["run_id"]
    async with asyncio.timeout(60):
        while (await load.far.get(f"/api/agents/{run_id}")).status_code != 200:
            await asyncio.sleep(0.1)
        while (await load.far.post(f"/api/agents/{run_id}/abort")).status_code != 200:
            await asyncio.sleep(0.1)
        async with load.mine.stream("GET", f"/api/runs/{run_id}/events") as stream:
            await events_of(stream)
    assert (await load.mine.get(f"/api/runs/{run_id}")).json()["status"] == "aborted"
