"""Event streams: many clients, slow ones, leaving ones, heartbeats, and going on where one was."""

import asyncio
import os
import re
from datetime import UTC, datetime

import pytest

from tests.server.server_support import each_event, events_of, problem, serving, shop
from tests.support.gates import opened, reached
from tuvl.errors import StepError
from tuvl.events.types import Event, RunFinished, RunStarted, StepStarted, TextDelta
from tuvl.server.attending import shut_out
from tuvl.server.event_log import EventLog
from tuvl.server.event_stream import EventStream, Streams
from tuvl.server.tokens import id_of
from tuvl.testing.clock import ManualClock

CLIENTS = 1000 if os.environ.get("TUVL_SOAK") else 50


def filled(count: int, *, size: int = 8, end: bool = False, words: bool = False) -> EventLog:
    log = EventLog("r1", clock=ManualClock(), size=size)
    for number in range(1, count + 1):
        body = TextDelta(iteration=1, text="w") if words else StepStarted(kind="Functional")
        log.accept(event(number, RunStarted(workflow="w", schema_version="v1") if number == 1 else body))
    if end:
        log.accept(event(count + 1, RunFinished(status="completed", signal="default", duration_ms=1.0)))
    return log


def event(seq, body) -> Event:
    return Event(run_id="r1", seq=seq, at=datetime(2030, 1, 1, tzinfo=UTC), step_id=None, body=body)


def ids(text: str) -> list[str]:
    return [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]


async def test_a_reader_goes_on_behind_the_event_that_it_names():
    log = filled(5)
    all_ids = ids(await log.reader().next(0))
    assert len(all_ids) == 5
    assert ids(await log.reader(last_id=all_ids[2]).next(0)) == all_ids[3:]
    for stranger in ("other-3", "3", "", f"{all_ids[0].split('-')[0]}-x", "-", f"{all_ids[0]}9999999999999"):
        assert ids(await log.reader(last_id=stranger).next(0)) == all_ids, stranger
    log.end("completed")
    done = log.reader(last_id=ids(await log.reader().next(0))[-1])
    assert (await done.next(0), done.ended) == ("", True)


async def test_what_a_slow_reader_missed_is_counted_and_told_with_the_end():
    log = filled(3, size=4)
    reader, late = log.reader(), log.reader()
    await reader.next(0)
    for seq in range(4, 21):
        log.accept(event(seq, StepStarted(kind="Functional")))
    log.accept(event(21, RunFinished(status="completed", signal=None, duration_ms=1.0)))
    text = await reader.next(0)
    assert len(ids(text)) == 4
    assert reader.dropped == 14
    assert '"dropped":14' in text
    assert reader.ended
    assert '"dropped":0' in await late.next(0), "who came late was not too slow"


async def test_what_is_forgotten_of_a_durable_run_is_counted_for_who_goes_on_behind_it_also_over_a_takeover():
    log = EventLog("r1", clock=ManualClock(), size=4, everywhere=True)
    for seq in (1, 2, 3, 4, 5, 6, 101, 102, 103, 104, 105):
        log.accept(event(seq, StepStarted(kind="Functional")))
    log.accept(event(106, RunFinished(status="completed", signal=None, duration_ms=1.0)))
    for seen, missed in (("", 0), ("3", 5), ("6", 2), ("50", 2), ("102", 0), ("103", 0)):
        reader = log.reader(last_id=seen)
        found = await reader.events(0)
        assert reader.dropped == missed, seen
        assert found[-1].wire["dropped"] == missed
        assert [sent.id for sent in found] == [id for id in ("103", "104", "105", "106") if id != seen]
    done = log.reader(last_id="106")
    assert (await done.next(0), done.ended) == ("", True)


async def test_words_of_a_model_are_left_out_for_those_who_may_not_read_them():
    log = filled(4, words=True, end=True)
    assert "text_delta" in await log.reader().next(0)
    text = await log.reader(content=False).next(0)
    assert "text_delta" not in text
    assert '"dropped":0' in text


async def test_there_is_exactly_one_terminal_event_whoever_ends_the_log():
    log = filled(2, end=True)
    log.end("failed")
    log.accept(event(9, StepStarted(kind="Functional")))
    text = await log.reader().next(0)
    assert text.count("event: run_finished") == 1
    assert '"status":"completed"' in text
    begun = EventLog("r2", clock=ManualClock())
    begun.end("failed")
    assert '"seq":1' in await begun.reader().next(0)


async def test_many_clients_a_third_of_them_slow_or_leaving_all_get_what_is_theirs(tmp_path):
    async with serving(shop(tmp_path), client_patience_s=60.0) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "crowd"}, "mode": "detached", "durable": False}
        run = (await client.post("/api/runs", json=body)).headers["location"]
        await reached("crowd")
        host, port = server.url.removeprefix("http://").split(":")
        request = (
            f"GET {run}/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: {client.headers['authorization']}\r\n\r\n"
        )

        async def watch(number: int) -> str:
            reader, writer = await asyncio.open_connection(host, int(port), limit=2048)
            try:
                writer.write(request.encode())
                head = await reader.readuntil(b"event: step_started")
                assert b"200 OK" in head
                arrived.release()
                if number % 6 == 0:
                    return "left"
                if number % 6 == 3:
                    await everybody.wait()  # it reads nothing for as long as anything happens
                return (await reader.read()).decode()
            finally:
                writer.close()

        arrived, everybody = asyncio.Semaphore(0), asyncio.Event()
        watching = [asyncio.create_task(watch(number)) for number in range(CLIENTS)]
        for _ in range(CLIENTS):
            await arrived.acquire()
        opened("crowd")
        fast = await asyncio.gather(*(task for number, task in enumerate(watching) if number % 6 not in {0, 3}))
        everybody.set()
        texts = [*fast, *await asyncio.gather(*(task for number, task in enumerate(watching) if number % 6 == 3))]
        assert {text.count("event: run_finished") for text in texts} == {1}
        assert all('"status":"completed"' in text for text in texts)
        async with asyncio.timeout(20):
            while server.services.streams.open:
                await asyncio.sleep(0)


async def test_a_client_that_reads_nothing_for_too_long_is_let_go():
    streams, told, log = Streams(5), [], filled(3)
    stream = EventStream(log.reader(), streams, heartbeat_s=60, patience_s=0.01, on_end=told.append)
    sent = []

    async def send(message) -> None:
        sent.append(message)
        if len(sent) > 2:
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    await stream({"type": "http"}, receive, send)
    assert len(sent) == 3
    assert told == [False]
    assert streams.open == 0


async def test_a_stream_shows_that_it_is_alive_while_nothing_happens(tmp_path):
    async with serving(shop(tmp_path), heartbeat_s=0.01) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "quiet"}, "mode": "stream"}
        async with client.stream("POST", "/api/runs", json=body) as stream:
            beats = 0
            async for line in stream.aiter_lines():
                beats += line == ": heartbeat"
                if beats == 3:
                    opened("quiet")
                if line == "event: run_finished":
                    break
        assert beats >= 3


@pytest.mark.parametrize("ended", ["revoked", "expired", "signed out"])
async def test_a_stream_ends_soon_after_its_client_would_not_get_in_any_more(tmp_path, ended):
    clock = ManualClock()
    async with serving(shop(tmp_path), recheck_s=0.05, clock=clock) as server:
        owner = await server.client()
        gate = f"shut {ended}"
        body = {"workflow": "gated", "input": {"gate": gate}, "mode": "detached", "durable": False}
        place = (await owner.post("/api/runs", json=body)).headers["location"]
        await reached(gate)
        lasts_s = (clock.now() - datetime.now(UTC)).total_seconds() + 3600
        token = await server.token("runs:read", id="spy", lasts_s=lasts_s)
        signed = await server.anyone().post("/login", data={"token": token}, headers={"Sec-Fetch-Site": "same-origin"})
        cookie = signed.headers["set-cookie"].partition(";")[0]
        spy, page = server.anyone(Authorization=f"Bearer {token}"), server.anyone(Cookie=cookie)
        paths = [(page, place.removeprefix("/api"))] + ([(spy, place)] if ended != "signed out" else [])

        async def watch(client, path: str) -> list[dict]:
            async with client.stream("GET", f"{path}/events") as stream:
                assert stream.status_code == 200
                arrived.release()
                return await events_of(stream)

        arrived = asyncio.Semaphore(0)
        async with asyncio.TaskGroup() as group, asyncio.timeout(20):
            watching = [group.create_task(watch(client, path)) for client, path in paths]
            for _ in watching:
                await arrived.acquire()
            await shut(server, ended, token, page)
            await clock.advance(4000 if ended == "expired" else 2)
        for task in watching:
            assert "run_finished" not in [event["type"] for event in task.result()]
        assert (await spy.get(place)).status_code == (200 if ended == "signed out" else 401)
        assert (await owner.get(place)).json()["status"] == "running", "nobody who watches ends a run"


async def shut(server, ended: str, token: str, page) -> None:
    """Have a token, or the session that was made with it, open nothing any more."""
    if ended == "revoked":
        id = id_of(token)
        assert id is not None
        await server.services.registry.access.store.access.revoke_token(id, datetime.now(UTC))
    elif ended == "signed out":
        csrf = re.search(r'name="csrf" value="([^"]+)"', (await page.get("/runs")).text)
        assert csrf is not None
        out = await page.post("/logout", data={"csrf": csrf[1]}, headers={"Sec-Fetch-Site": "same-origin"})
        assert out.status_code == 303


async def test_a_stream_goes_on_while_nobody_can_tell_whether_its_client_may_watch(tmp_path):
    async with serving(shop(tmp_path), recheck_s=0.01) as server:
        looks = 0

        async def admitted() -> bool:
            nonlocal looks
            looks += 1
            if looks < 3:
                raise StepError("the store is away", type="database")
            return False

        async with asyncio.timeout(20):
            await shut_out(server.services, admitted)
        assert looks == 3


async def test_a_run_that_is_over_and_forgotten_still_has_its_end(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        document = (await client.post("/api/runs", json={"workflow": "quick", "input": {"name": "Ada"}})).json()
        server.services.live._ended.clear()
        async with client.stream("GET", f"/api/runs/{document['run_id']}/events") as stream:
            (event,) = await events_of(stream)
        assert (event["type"], event["status"], event["run_id"]) == ("run_finished", "completed", document["run_id"])


async def test_more_streams_than_the_server_takes_are_refused(tmp_path):
    async with serving(shop(tmp_path), clients=1) as server:
        client, other = await server.client(), await server.client()
        body = {"workflow": "gated", "input": {"gate": "one"}, "mode": "stream"}
        async with client.stream("POST", "/api/runs", json=body) as stream:
            events = each_event(stream)
            first = await anext(events)
            problem(await other.get(f"/api/runs/{first['run_id']}/events"), 503, "no-room")
            problem(await other.post("/api/runs", json=body), 503, "no-room")
            opened("one")
            assert [event["type"] async for event in events][-1] == "run_finished"


@pytest.mark.parametrize("scopes", [("runs:read",), ("runs:read", "agent:observe")])
async def test_a_watcher_sees_the_same_events_as_the_one_who_started(tmp_path, scopes):
    async with serving(shop(tmp_path)) as server:
        client, watcher = await server.client(), await server.client(*scopes, id="watcher")
        body = {"workflow": "gated", "input": {"gate": f"both{len(scopes)}"}, "mode": "stream"}
        async with client.stream("POST", "/api/runs", json=body) as stream:
            started = each_event(stream)
            first = await anext(started)
            async with watcher.stream("GET", f"/api/runs/{first['run_id']}/events") as other:
                opened(f"both{len(scopes)}")
                seen = await events_of(other)
            assert [first, *[event async for event in started]] == seen
