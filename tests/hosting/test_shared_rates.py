"""How often a model is called holds for all processes on one database, whatever their clocks say."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hosting.conftest import Site
from tuvl.durable.call_state import CallState
from tuvl.durable.transactions import Transactions
from tuvl.hosting.requests import StartRequest

ASK = """\
kind: Workflow
metadata: { name: ask, description: Ask once. }
spec:
  steps:
    - id: ask
      kind: Agent
      mode: completion
      agent: { model: slow, prompt: Hello, outcome: { write: said } }
---
kind: AgentModel
metadata: { name: slow }
spec: { provider: scripted, rate_limit: { calls: 1, per_seconds: 0.4 }, replies: [hello] }
"""


async def test_calls_of_all_who_come_at_once_are_spread_over_the_time(site: Site) -> None:
    async with site.host(concurrency=0) as host:
        state = CallState(host._state)

        def take(number: int) -> float:
            before = time.monotonic()
            wait_s = state.take(f"call-{number}", "m", calls=3, per_s=100)
            return wait_s + (time.monotonic() - before)

        with ThreadPoolExecutor(8) as pool:
            waits = sorted(pool.map(take, range(10)))
    rounds = [round(wait_s / 100) for wait_s in waits]
    assert rounds == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


async def test_the_clocks_of_processes_do_not_matter(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site.host(concurrency=0) as host:
        if site.url is None:
            return  # one process has the file
        state = CallState(host._state)
        assert state.take("a", "m", calls=1, per_s=100) == 0
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert 90 < state.take("b", "m", calls=1, per_s=100) <= 100


async def test_a_clock_that_is_set_back_has_no_call_wait_longer_than_the_limit_needs(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Hands(monkeypatch)
    async with site.host(concurrency=0) as host:
        state = CallState(host._state)

        def take(call: str) -> float:
            return round(state.take(call, "m", calls=2, per_s=5), 3)

        clock.at = 1000
        assert [take(call) for call in "abcde"] == [0, 0, 5, 5, 10]
        clock.at = 1  # as after a change to a server whose clock is behind
        assert take("e") == 10, "asked again after its connection was lost"
        assert take("f") == 10, "those ahead go on waiting, and no more than two are let through in 5 s"
        clock.at = 4
        assert [take("g"), take("h")] == [12, 12]
        clock.at = -5000
        state.give_back("h")
        assert [take("i"), take("j")] == [12, 17]
        clock.at = -4900
        assert [take("k"), take("l"), take("m")] == [0, 0, 5]


class Hands:
    """Of the database's clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 0.0
        monkeypatch.setattr(Transactions, "now", lambda *_: self.at)


async def test_a_place_that_is_given_back_is_free_again(site: Site) -> None:
    async with site.host(concurrency=0) as host:
        state = CallState(host._state)
        state.take("a", "m", calls=1, per_s=100)
        assert state.take("b", "m", calls=1, per_s=100) > 90
        state.give_back("b")
        assert 90 < state.take("c", "m", calls=1, per_s=100) <= 100
        assert state.take("c", "m", calls=1, per_s=100) <= 100, "the same call asks again after its connection was lost"


async def test_runs_of_a_host_wait_for_each_other(site: Site) -> None:
    (site.folder / "workflows" / "ask.yaml").write_text(ASK)
    async with site.host() as host:
        begun = time.monotonic()
        runs = [await host.start(StartRequest(workflow="ask")) for _ in range(4)]
        documents = await asyncio.gather(*(host.wait(run_id, 30) for run_id in runs))
    assert [(document or {})["status"] for document in documents] == ["completed"] * 4
    assert time.monotonic() - begun > 3 * 0.4
