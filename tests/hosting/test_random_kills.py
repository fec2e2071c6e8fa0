"""Two workers under load, killed at random: nothing is lost, and nothing is done twice without anybody knowing."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.durable.durable_project import EFFECTS, Counting, counting
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))

KILLS, LOAD = (200, 50) if os.environ.get("TUVL_SOAK") else (4, 6)
WORKERS, CONCURRENCY = 2, 10
LOST_AFTER_S = 60.0 if KILLS < 200 else 900.0
"""After so long a run counts as lost: workers do not live long here."""

EFFECT_OF = {
    "plain#1/": "plain",
    "agent#1/tool.pay.c1": "pay1",
    "agent#1/tool.pay.c3": "pay3",
    "each#1/[0]": "post7",
    "each#1/[1]": "post8",
    "inner#1/deep": "deep",
}
"""How the name of an entry begins → what a call of that step does."""


@dataclass
class Load:
    """The runs that go on, so many at a time, until it is over."""

    host: Host
    port: int
    counted: type[Counting]
    cases: list[str] = field(default_factory=list)
    asked: int = 0
    over: bool = False

    async def go_on(self) -> None:
        while not self.over:
            self.cases.append(f"c{len(self.cases)}")
            await self.one(self.cases[-1])

    async def one(self, case: str) -> None:
        run_id = await self.host.start(StartRequest(workflow="w", input={"origin": str(self.port), "case": case}))
        while True:
            document = await self.host.wait(run_id, LOST_AFTER_S)
            assert document is not None, f"run {run_id} is lost"
            if document["status"] != "suspended":
                break
            await self.answer(run_id, case, document["error"]["detail"])  # type: ignore[index,call-overload]
        assert document["status"] == "completed", document["error"]

    async def answer(self, run_id: str, case: str, asked: dict) -> None:
        """Say what became of an effect, as somebody does who looks at the other side."""
        (name,) = [effect for entry, effect in EFFECT_OF.items() if asked["wait"].startswith(entry)]
        outcome = "done" if self.counted.counts[f"/{case}/{name}"] else "retry"
        self.asked += 1
        request = AnswerRequest(digest=asked["digest"], value={"outcome": outcome}, by=OPERATOR)
        await self.host.answer(run_id, request)


class Slow(dict[str, Callable[[], object]]):
    """Has each call take a while after it was counted, so that kills come in between."""

    def get(self, path: str, default: object = None) -> Callable[[], object]:  # type: ignore[override]
        return lambda: time.sleep(random.uniform(0.0, 0.2))


async def gone(host: Host, pid: int) -> float:
    """Wait until nothing belongs to a killed process any more; returns how long that took, in seconds."""
    since = time.monotonic()
    while any(owner.split(":")[1] == str(pid) for owner in await asyncio.to_thread(host._state.owners)):
        await asyncio.sleep(0.05)
    return time.monotonic() - since


async def test_workers_that_are_killed_at_random_lose_no_run_and_do_nothing_twice(shared_site, spawn):
    dice = random.Random(7)
    with counting() as (port, counted):
        async with shared_site.host(concurrency=0) as host:
            counted.meanwhile = Slow()
            load = Load(host, port, counted)
            workers = [spawn(shared_site, concurrency=CONCURRENCY) for _ in range(WORKERS)]
            async with asyncio.TaskGroup() as tasks:
                for _ in range(LOAD):
                    tasks.create_task(load.go_on())
                takeovers = []
                for _ in range(KILLS):
                    await asyncio.sleep(dice.uniform(0.3, 2.5))  # the moment of a kill is what is random here
                    victim = workers.pop(dice.randrange(len(workers)))
                    os.kill(victim, signal.SIGKILL)
                    takeovers.append(tasks.create_task(gone(host, victim)))
                    workers.append(spawn(shared_site, concurrency=CONCURRENCY))
                load.over = True
    slowest = max(takeover.result() for takeover in takeovers)
    print(f"{len(load.cases)} runs, {KILLS} kills, {load.asked} questions, slowest takeover {slowest:.2f} s")
    for case in load.cases:
        assert [counted.counts[f"/{case}/{name}"] for name in EFFECTS if name != "keyed"] == [1] * (len(EFFECTS) - 1)
        assert counted.counts[f"/{case}/keyed"] >= 1
        assert counted.keys[f"/{case}/keyed"] == {f"key-{case}"}
