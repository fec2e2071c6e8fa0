"""Numbers of events are given once: who was told more than was kept of a run misses nothing of what comes after."""

import asyncio
import os
from types import SimpleNamespace

import pytest

import tuvl.hosting.event_keeping as keeping
from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tests.hosting.test_event_keeping import BEGAN, ENDED, began, ended, event, perform, store
from tests.hosting.test_followed_elsewhere import come, events_of, told
from tests.hosting.test_takeover import gone
from tests.server.server_support import serving
from tuvl.clock import SystemClock
from tuvl.data.fault_types import UNREACHABLE
from tuvl.errors import StepError
from tuvl.events.types import ModelCallStarted, StreamReset, TextDelta
from tuvl.hosting.event_keeping import EventKeeper
from tuvl.hosting.hearing import NUMBERS, Hearing
from tuvl.principal import ANY
from tuvl.server.event_log import EventLog
from tuvl.server.performed_here import PerformedHere
from tuvl.settings import load_settings


def performing(site: Site):
    settings = load_settings({"TUVL_DATABASE_URL": site.url or ""})
    return serving(SimpleNamespace(root=site.folder, settings=settings, environ={}), durable=True, concurrency=2)


def hearing(keeper: EventKeeper, log: EventLog) -> Hearing:
    return Hearing(keeper, lambda run_id: PerformedHere(log, lambda *about: None, lambda workflow: None))


async def read(log: EventLog, last_id: str | None) -> list[tuple[str, str]]:
    """Read a log to its end, as a client does that had come to an event."""
    reader, found = log.reader(last_id=last_id), []
    while not reader.ended:
        found += [(str(sent.id), sent.type) for sent in await reader.events(0)]
    return found


@pytest.mark.parametrize("kill", [None, "before before#1/end!1"])
async def test_who_was_told_more_than_was_kept_is_told_all_that_happens_after_a_takeover(site, spawn, kill):
    with gated("x") as (port, _, gate):
        first = spawn(
            site, start={"workflow": "gated", "input": {"origin": port, "case": "x"}, "run_id": "r"}, kill=kill
        )
        if kill is None:
            await come(gate)
            os.kill(first, 9)
        await gone(first)
        async with performing(site) as server:
            await come(gate)
            gate.opened.set()
            client = await server.client("runs:read", ANY)
            events = await events_of(client, "r", after="203")
            assert await events_of(client, "r", after=events[2]["id"]) == events[3:]
            assert await events_of(client, "r", after=events[-1]["id"]) == []
    types = [type for type, _ in told(events)]
    assert types[0] in ("run_started", "run_resumed")
    assert (types[-1], types.count("run_finished")) == ("run_finished", 1)
    assert min(event["seq"] for event in events) > NUMBERS


async def test_words_of_a_model_that_were_told_and_not_kept_have_numbers_that_are_not_given_again(tmp_path):
    async with store(tmp_path) as access, EventKeeper.open(access) as keeper:
        log = EventLog("r", clock=SystemClock(), everywhere=True)
        first = await hearing(keeper, log).begin("r", attempt=1)
        for each in (event(1, BEGAN), began(2, "a"), ended(3, "a"), began(4, "b")):
            first.accept(each)
        first.accept(event(5, ModelCallStarted(iteration=1, attempt=1), "b"))
        for number in range(6, 205):
            first.accept(event(number, TextDelta(iteration=1, text="word"), "b"))
        assert log.last_seq == 204
        for attempt, in_the_same_server in ((2, True), (3, False)):
            if not in_the_same_server:
                log = EventLog("r", clock=SystemClock(), everywhere=True)
            later = await hearing(keeper, log).begin("r", attempt=attempt)
            for each in (event(1, BEGAN), began(2, "a"), ended(3, "a"), began(4, "b")):
                later.accept(each)
            later.accept(event(5, StreamReset(iteration=1), "b"))
            later.accept(event(6, ModelCallStarted(iteration=1, attempt=1), "b"))
            later.accept(event(7, TextDelta(iteration=1, text="word"), "b"))
        perform(later, ended(6, "b"), event(7, ENDED))
    third = 2 * NUMBERS
    rest = [
        (str(third + 1), "run_resumed"),
        (str(third + 2), "stream_reset"),
        (str(third + 3), "text_delta"),
        (str(third + 4), "step_finished"),
        (str(third + 5), "run_finished"),
    ]
    assert await read(log, "204") == [(str(NUMBERS + 1), "run_resumed"), (str(NUMBERS + 2), "stream_reset"), *rest]
    assert await read(log, str(NUMBERS + 2)) == rest


async def test_a_reader_is_told_of_a_durable_run_what_is_kept_by_then_and_all_when_nothing_can_be(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(keeping, "AGAIN_S", 0.0)
    async with store(tmp_path) as access:
        asked, goes_on, away = asyncio.Event(), asyncio.Event(), False

        async def keep(pieces):
            asked.set()
            await goes_on.wait()
            if away:
                raise StepError("it is away", type=UNREACHABLE)
            return await access.store.events.keep(pieces)

        events = SimpleNamespace(keep=keep, after=access.store.events.after, forget=access.store.events.forget)
        async with EventKeeper.open(SimpleNamespace(store=SimpleNamespace(events=events))) as keeper:
            log = EventLog("r", clock=SystemClock(), everywhere=True)
            heard = await hearing(keeper, log).begin("r", attempt=1)
            reader = log.reader()

            async def read_now() -> list[str]:
                return [sent.type for sent in await reader.events(0)]

            heard.accept(event(1, BEGAN))
            heard.accept(event(2, ModelCallStarted(iteration=1, attempt=1), "b"))
            heard.accept(event(3, TextDelta(iteration=1, text="Yes"), "b"))
            await asked.wait()
            assert await read_now() == []
            goes_on.set()
            assert [sent.type for sent in await reader.events(20)] == [
                "run_started",
                "model_call_started",
                "text_delta",
            ]
            heard.accept(event(4, TextDelta(iteration=1, text=", sir"), "b"))
            assert await read_now() == ["text_delta"], "words are not kept, and wait for nothing"
            away = True
            perform(heard, event(5, ENDED))
            assert [sent.type for sent in await reader.events(20)] == ["run_finished"]
            assert reader.ended
            away = False


async def test_an_event_of_a_run_of_which_little_was_kept_is_not_taken_for_one_that_was_forgotten(tmp_path):
    async with store(tmp_path) as access, EventKeeper.open(access) as keeper:
        for attempt in (2, 3):  # nothing is kept of the first
            heard = await Hearing(keeper, None).begin("r", attempt=attempt)
            heard.accept(event(1, BEGAN))
        perform(heard, began(2, "a"), ended(3, "a"), event(4, ENDED))
        await keeper._write()
        found = [(wire["type"], wire["seq"]) for wire in (await access.store.events.after({"r": 0}))["r"]]
    third = 2 * NUMBERS
    assert found == [
        ("run_started", NUMBERS + 1),
        ("run_resumed", third + 1),
        ("step_started", third + 2),
        ("step_finished", third + 3),
        ("run_finished", third + 4),
    ]
