"""Of some workflows only so many runs go on at once, over all processes; the others wait for their turn, in order."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tuvl.durable import idling
from tuvl.durable.line_state import LineState
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))


def limit(folder: Path, name: str, most: int) -> None:
    path = folder / "workflows" / f"{name}.yaml"
    path.write_text(path.read_text().replace("spec:\n", f"spec:\n  limits: {{ concurrency: {most} }}\n", 1))


async def started(host: Host, port: str, cases: list[str]) -> list[str]:
    return [
        await host.start(StartRequest(workflow="gated", input={"origin": port, "case": case}, run_id=f"run-{case}"))
        for case in cases
    ]


async def until(what: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while True:
            found = what()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


async def test_no_more_runs_of_a_workflow_go_on_than_may_and_they_come_in_order(site: Site) -> None:
    limit(site.folder, "gated", 2)
    cases = list("abcdef")
    begun: list[str] = []
    going: set[str] = set()
    most, passed_over = [0], [0]

    def begin(case: str) -> None:
        begun.append(case)
        going.add(case)
        most.append(len(going))
        passed_over.append(sum(other < case for other in set(cases) - set(begun)))

    with gated(*cases) as (port, counted, gate):
        for case in cases:
            counted.meanwhile[f"/{case}/before"] = lambda case=case: begin(case)
            counted.meanwhile[f"/{case}/after"] = lambda case=case: going.discard(case)
        async with site.host(concurrency=10) as host:
            other = await host.start(StartRequest(workflow="pay", input={"sum": 1}))
            runs = await started(host, port, cases)
            for _ in range(2):
                await asyncio.to_thread(gate.reached.acquire)
            assert (await host.wait(other, 30) or {})["status"] == "suspended", "other workflows are not held up"
            await until(lambda: are_queued(host, runs[2:]))
            assert sorted(begun) == cases[:2]
            gate.opened.set()
            for run_id in runs:
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"
    assert sorted(begun) == cases
    assert max(most) == 2
    assert max(passed_over) <= 1, "of two that have a place, either may be the first to do something"


async def test_the_oldest_comes_next(site: Site) -> None:
    limit(site.folder, "gated", 1)
    cases = list("abcd")
    seen: list[str] = []
    with gated("a") as (port, counted, gate):
        counted.meanwhile.update({f"/{case}/before": lambda case=case: seen.append(case) for case in cases})
        async with site.host(concurrency=10) as host:
            runs = await started(host, port, cases)
            await asyncio.to_thread(gate.reached.acquire)
            await until(lambda: len(host.running) == 1)
            gate.opened.set()
            for run_id in runs:
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"
    assert seen == cases


async def test_a_run_that_waits_for_a_person_has_no_place(site: Site) -> None:
    limit(site.folder, "pay", 1)
    async with site.host() as host:
        runs = [await host.start(StartRequest(workflow="pay", input={"sum": sum})) for sum in range(3)]
        for run_id in runs:
            assert (await host.wait(run_id, 30) or {})["status"] == "suspended"
        for waiting in await host.waits(OPERATOR):
            ann = Principal(id="ann", groups=frozenset({"finance"}))
            await host.answer(waiting.run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=ann))
        for run_id in runs:
            await until(lambda run_id=run_id: ended(host, run_id))


async def are_queued(host: Host, run_ids: list[str]) -> bool:
    return [await host.state(run_id) for run_id in run_ids] == ["queued"] * len(run_ids)


async def ended(host: Host, run_id: str) -> bool:
    return await host.state(run_id) == "ended"


async def test_a_run_is_aborted_while_it_stands_in_line(site: Site) -> None:
    limit(site.folder, "gated", 1)
    with gated("a") as (port, counted, gate):
        async with site.host() as host:
            first, second = await started(host, port, ["a", "b"])
            await asyncio.to_thread(gate.reached.acquire)
            await host.abort(second, "enough", "ann")
            document = await host.wait(second, 30)
            assert document is not None
            assert document["status"] == "aborted"
            gate.opened.set()
            assert (await host.wait(first, 30) or {})["status"] == "completed"
    assert counted.counts["/b/before"] == 0


async def test_a_run_is_aborted_just_before_it_would_be_parked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(site.folder, "gated", 1)
    entering, ordered = threading.Event(), threading.Event()
    enter = LineState.enter

    def enter_late(self: LineState, run_id: str, workflow: str, *, most: int, owner: str) -> bool:
        if run_id == "run-b":
            entering.set()
            ordered.wait(30)
        return enter(self, run_id, workflow, most=most, owner=owner)

    monkeypatch.setattr(LineState, "enter", enter_late)
    with gated("a") as (port, counted, gate):
        async with site.host() as host:
            first, second = await started(host, port, ["a", "b"])
            await asyncio.to_thread(gate.reached.acquire)
            assert await asyncio.to_thread(entering.wait, 30)
            await host.abort(second, "enough", "ann")
            ordered.set()
            assert (await host.wait(second, 30) or {})["status"] == "aborted"
            gate.opened.set()
            assert (await host.wait(first, 30) or {})["status"] == "completed"
    assert counted.counts["/b/before"] == 0


async def test_the_next_in_line_is_called_at_once_though_nobody_has_looked_for_long(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"REST_S": 3600.0, "UNTOLD_S": 3600.0, "BUSY_S": 0.0, "NEWS_S": 0.0}.items():
        monkeypatch.setattr(idling, name, seconds)
    limit(site.folder, "gated", 1)
    with gated("a") as (port, _, gate):
        async with site.host() as host:
            first, second = await started(host, port, ["a", "b"])
            await asyncio.to_thread(gate.reached.acquire)
            await until(lambda: host.running == [first])
            await until(lambda: are_queued(host, [second]))
            gate.opened.set()
            for run_id in (first, second):
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"


async def test_a_limit_that_is_gone_from_the_file_holds_nobody_who_starts_later(site: Site) -> None:
    plain = (site.folder / "workflows" / "gated.yaml").read_text()
    limit(site.folder, "gated", 1)
    with gated("a") as (port, _, gate):
        async with site.host() as host:
            first, second = await started(host, port, ["a", "b"])
            await asyncio.to_thread(gate.reached.acquire)
            (site.folder / "workflows" / "gated.yaml").write_text(plain)
            (third,) = await started(host, port, ["c"])
            assert (await host.wait(third, 30) or {})["status"] == "completed"
            await until(lambda: are_queued(host, [second]))
            gate.opened.set()
            for run_id in (first, second):
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"


async def test_the_place_of_a_killed_process_goes_to_its_own_run_first_and_then_to_the_next(
    shared_site: Site, spawn
) -> None:
    limit(shared_site.folder, "gated", 1)
    with gated("a") as (port, counted, gate):
        async with shared_site.host(concurrency=0) as host:
            pid = spawn(shared_site)
            runs = await started(host, port, ["a", "b", "c"])
            await asyncio.to_thread(gate.reached.acquire)
            os.kill(pid, signal.SIGKILL)
            spawn(shared_site)
            await asyncio.to_thread(gate.reached.acquire)
            assert not counted.counts["/b/before"]
            gate.opened.set()
            for run_id in runs:
                assert (await host.wait(run_id, 30) or {})["status"] == "completed"
    for case in "abc":
        assert [counted.counts[f"/{case}/{name}"] for name in ("before", "after")] == [1, 1]


async def test_several_processes_keep_to_one_limit(shared_site: Site, spawn) -> None:
    limit(shared_site.folder, "gated", 2)
    cases = [f"c{number}" for number in range(5)]
    going: set[str] = set()
    most: list[int] = []
    with gated() as (port, counted, _):

        def begin(case: str) -> None:
            going.add(case)
            most.append(len(going))

        for case in cases:
            counted.meanwhile[f"/{case}/before"] = lambda case=case: begin(case)
            counted.meanwhile[f"/{case}/after"] = lambda case=case: going.discard(case)
        async with shared_site.host(concurrency=0) as host:
            for _ in range(2):
                spawn(shared_site)
            runs = await started(host, port, cases)
            for run_id in runs:
                assert (await host.wait(run_id, 60) or {})["status"] == "completed"
    assert max(most) <= 2
    assert len(most) == len(cases)
