"""Runs that worker processes perform, followed by clients of a server that performs none of them."""

import asyncio
import json
import os
from types import SimpleNamespace

import httpx

from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tests.pages.pages_support import signed_cookie
from tests.server.server_support import Serving, each_event, serving
from tuvl.data.event_store import EventPiece
from tuvl.hosting.hearing import NUMBERS
from tuvl.principal import ANY
from tuvl.server import durable_runs
from tuvl.settings import load_settings


def watching_only(site: Site):
    """Serve a project, and perform no run of it."""
    settings = load_settings({"TUVL_DATABASE_URL": site.url or ""})
    project = SimpleNamespace(root=site.folder, settings=settings, environ={})
    return serving(project, durable=True, concurrency=0)


async def events_of(client: httpx.AsyncClient, run_id: str, *, after: str = "0") -> list[dict]:
    """Follow a run to the end of the stream."""
    async with client.stream("GET", f"/api/runs/{run_id}/events", headers={"Last-Event-ID": after}) as stream:
        return [event async for event in each_event(stream)]


async def come(gate) -> None:
    assert await asyncio.to_thread(gate.reached.acquire, timeout=30)


def told(events: list[dict]) -> list[tuple[str, str | None]]:
    return [(event["type"], event["step_id"]) for event in events]


async def shown(server: Serving, run_id: str) -> str:
    cookie = await signed_cookie(server, "runs:read")
    cookies = {cookie["name"]: cookie["value"]}
    async with httpx.AsyncClient(base_url=server.url, cookies=cookies, trust_env=False) as browser:
        page = await browser.get(f"/runs/{run_id}")
    assert page.status_code == 200
    return page.text


async def test_a_run_of_a_worker_is_followed_live_through_its_takeover_and_by_the_next_server(shared_site, spawn):
    with gated("x") as (port, _, gate):
        start = {"workflow": "gated", "input": {"origin": port, "case": "x"}, "run_id": "r"}
        first = spawn(shared_site, start=start)
        await come(gate)
        async with watching_only(shared_site) as server:
            client = await server.client("runs:read", ANY)
            events = []
            async with client.stream("GET", "/api/runs/r/events") as stream:
                async for event in each_event(stream):
                    events.append(event)
                    if told([event]) == [("step_started", "gate")]:
                        page = await shown(server, "r")
                        assert "In step gate" in page
                        assert "ended on default" in page  # the step before
                        os.kill(first, 9)
                        spawn(shared_site)
                        await come(gate)
                        gate.opened.set()
        assert told(events) == [
            ("run_started", None),
            ("step_started", "before"),
            ("step_finished", "before"),
            ("step_started", "gate"),
            ("run_resumed", None),
            ("step_finished", "gate"),
            ("step_started", "after"),
            ("step_finished", "after"),
            ("run_finished", None),
        ]
        assert events[-1]["status"] == "completed"
        assert [event["seq"] for event in events] == [1, 2, 3, 4, *range(NUMBERS + 1, NUMBERS + 6)]
        async with watching_only(shared_site) as server:
            client = await server.client("runs:read", ANY)
            assert await events_of(client, "r", after=events[3]["id"]) == events[4:]
            assert await events_of(client, "r", after=events[-1]["id"]) == []
            assert "the run goes on from its record" in await shown(server, "r")


async def test_a_run_that_waits_elsewhere_ends_its_streams_and_goes_on_in_the_next_one(shared_site, spawn):
    spawn(shared_site, start={"workflow": "pay", "input": {"sum": 7}, "run_id": "r"})
    async with watching_only(shared_site) as server:
        client = await server.client(ANY, id="ann", groups=("finance",))
        while (await client.get("/api/runs/r")).status_code != 200:
            await asyncio.sleep(0.02)
        waited = await events_of(client, "r")
        assert told(waited) == [("run_started", None), ("step_started", "sure"), ("run_finished", None)]
        assert waited[-1]["status"] == "suspended"
        (wait,) = (await client.get("/api/waits")).json()["waits"]
        answer = {"digest": wait["digest"], "value": {"verdict": "pay"}}
        assert (await client.post("/api/runs/r/answer", json=answer)).status_code == 200
        rest = await events_of(client, "r", after=waited[-1]["id"])
        assert told(rest) == [
            ("run_resumed", None),
            ("step_finished", "sure"),
            ("step_started", "done"),
            ("step_finished", "done"),
            ("run_finished", None),
        ]
        whole = await events_of(client, "r")
        assert told(whole) == [*told(waited[:-1]), ("suspended", None), *told(rest)]
        assert [event["seq"] for event in whole] == [1, 2, 3, *range(NUMBERS + 1, NUMBERS + 6)]


async def test_a_run_that_has_just_stopped_elsewhere_is_followed_although_its_events_are_kept_a_moment_later(
    shared_site, spawn, monkeypatch
):
    monkeypatch.setattr(durable_runs, "KEPT_BY_S", 3600)
    spawn(shared_site, start={"workflow": "pay", "input": {"sum": 7}, "run_id": "r"})
    async with watching_only(shared_site) as server:
        client, store = await server.client(ANY), server.services.registry.access.store.events
        while (await store.after({"r": 0})).get("r", [{}])[-1].get("type") != "run_finished":
            await asyncio.sleep(0.02)
        kept = (await store.after({"r": 0}))["r"]
        await store.forget("r", up_to=NUMBERS)
        async with client.stream("GET", "/api/runs/r/events") as stream:
            whole = EventPiece(run_id="r", first_seq=1, last_seq=kept[-1]["seq"], events=json.dumps(kept))
            await store.keep([whole])
            followed = [event async for event in each_event(stream)]
        assert told(followed) == [("run_started", None), ("step_started", "sure"), ("run_finished", None)]
