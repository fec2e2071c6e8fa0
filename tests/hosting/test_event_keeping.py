"""What is kept of the events of durable runs: gathered, bounded, told once over all processes, and never waited for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from sqlalchemy import text

import tuvl.hosting.event_keeping as keeping
from tuvl.data.fault_types import UNREACHABLE
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.errors import StepError
from tuvl.events.serialize import from_wire, to_wire
from tuvl.events.types import (
    Event,
    EventBody,
    Heartbeat,
    ModelCallStarted,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextDelta,
)
from tuvl.hosting.event_keeping import EventKeeper, KeptRun
from tuvl.hosting.hearing import NUMBERS, Heard, Hearing
from tuvl.principal import Principal

AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
BEGAN = RunStarted(workflow="w", schema_version="1.0.0")
ENDED = RunFinished(status="completed", signal="default", duration_ms=5.0)


def event(seq: int, body: EventBody, step: str | None = None, run_id: str = "r") -> Event:
    return Event(run_id=run_id, seq=seq, at=AT, step_id=step, body=body)


def began(seq: int, step: str) -> Event:
    return event(seq, StepStarted(kind="Functional"), step)


def ended(seq: int, step: str, duration_ms: float = 1.0) -> Event:
    return event(seq, StepFinished(kind="Functional", signal="default", duration_ms=duration_ms), step)


@asynccontextmanager
async def store(folder, *runs: str) -> AsyncIterator[StoreAccess]:
    access = StoreAccess(str(folder), None)
    for run_id in runs or ("r",):
        row = RunRow(run_id=run_id, workflow="w", schema_version="1.0.0", principal=Principal(id="ada"), started_at=AT)
        await access.store.queued(row)
    yield access
    await access.aclose()


async def kept(access: StoreAccess, run_id: str = "r") -> list[tuple[int, str, str | None]]:
    found = (await access.store.events.after({run_id: 0})).get(run_id, [])
    return [(wire["seq"], wire["type"], wire["step_id"]) for wire in found]


def perform(heard: Heard, *events: Event, status: str = "completed") -> None:
    for each in events:
        heard.accept(each)
    heard.end(status)
    heard.leave()


def test_what_is_written_of_an_event_can_be_read_again():
    for body in (
        BEGAN,
        ENDED,
        ModelCallStarted(iteration=2, attempt=1),
        Heartbeat(iteration=1, activity="model", elapsed_s=2.5),
    ):
        one = event(7, body, "a/b[2]")
        assert from_wire(to_wire(one)) == one
    assert from_wire({**to_wire(event(1, BEGAN)), "type": "of_a_later_tuvl"}) is None
    assert from_wire({"type": "run_started"}) is None


async def test_events_of_all_runs_are_one_statement_and_words_of_models_are_not_among_them(tmp_path):
    async with store(tmp_path, "a", "b", "c") as access:
        async with EventKeeper.open(access) as keeper:
            for run_id in ("a", "b", "c"):
                words = event(2, TextDelta(iteration=1, text="secret"), "s", run_id)
                heard = Heard(run_id, keeper, None, ())
                perform(heard, event(1, BEGAN, run_id=run_id), words, event(3, ENDED, run_id=run_id))
        async with access.store._engine.connect() as connection:
            pieces = (await connection.execute(text("SELECT run_id, events FROM tuvl_run_events"))).all()
        assert sorted(run_id for run_id, _ in pieces) == ["a", "b", "c"]
        assert not any("secret" in events for _, events in pieces)
        assert await kept(access, "a") == [(1, "run_started", None), (3, "run_finished", None)]


async def test_what_was_told_before_a_takeover_is_not_told_again_and_numbers_go_on(tmp_path):
    async with store(tmp_path) as access, EventKeeper.open(access) as keeper:
        first = Heard("r", keeper, None, ())
        for each in (
            event(1, BEGAN),
            began(2, "a"),
            ended(3, "a"),
            began(4, "a"),
            event(5, Heartbeat(iteration=1, activity="model", elapsed_s=1.0), "a"),
        ):
            first.accept(each)
        first.leave()
        again = await Hearing(keeper, None).begin("r", attempt=2)
        told = (
            event(1, BEGAN),
            began(2, "a"),
            ended(3, "a", 9.0),
            began(4, "a"),
            ended(5, "a"),
            began(6, "b"),
            ended(7, "b"),
        )
        perform(again, *told, event(8, ENDED))
        await keeper._write()
        assert (await kept(access))[4:] == [
            (5, "heartbeat", "a"),
            (NUMBERS + 1, "run_resumed", None),
            (NUMBERS + 2, "step_finished", "a"),
            (NUMBERS + 3, "step_started", "b"),
            (NUMBERS + 4, "step_finished", "b"),
            (NUMBERS + 5, "run_finished", None),
        ]


async def test_a_run_that_another_process_began_and_recorded_nothing_of_is_told_once(tmp_path):
    async with store(tmp_path) as access:
        for attempt, events in (
            (1, (event(1, BEGAN), began(2, "a"))),
            (2, (event(1, BEGAN), began(2, "a"), ended(3, "a"), event(4, ENDED))),
        ):
            async with EventKeeper.open(access) as keeper:
                heard = await Hearing(keeper, None).begin("r", attempt=attempt)
                for each in events:
                    heard.accept(each)
                if len(events) > 2:
                    heard.end("completed")
        assert await kept(access) == [
            (1, "run_started", None),
            (2, "step_started", "a"),
            (NUMBERS + 1, "run_resumed", None),
            (NUMBERS + 2, "step_finished", "a"),
            (NUMBERS + 3, "run_finished", None),
        ]


async def test_a_run_that_leaves_its_process_has_no_end_there(tmp_path):
    async with store(tmp_path) as access:
        async with EventKeeper.open(access) as keeper:
            heard = Heard("r", keeper, None, ())
            heard.accept(event(1, BEGAN))
            heard.accept(event(2, RunFinished(status="suspended", signal=None, duration_ms=1.0)))
            heard.leave()
        assert await kept(access) == [(1, "run_started", None)]


async def test_of_a_long_run_the_oldest_events_are_forgotten_and_not_told_again_by_a_takeover(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_KEPT", 4)
    monkeypatch.setattr(keeping, "_SPARE", 2)
    steps = [
        each
        for number in range(5)
        for each in (began(2 * number + 2, f"s{number}"), ended(2 * number + 3, f"s{number}"))
    ]
    async with store(tmp_path) as access, EventKeeper.open(access) as keeper:
        first = Heard("r", keeper, None, ())
        for each in (event(1, BEGAN), *steps):
            first.accept(each)
            await keeper._write()
        assert [seq for seq, _, _ in await kept(access)] == [7, 8, 9, 10, 11]
        again = await Hearing(keeper, None).begin("r", attempt=2)
        perform(again, event(1, BEGAN), *steps, began(12, "new"), event(13, ENDED))
        await keeper._write()
        told = [(type, step) for seq, type, step in await kept(access) if seq > 11]
        assert told == [("run_resumed", None), ("step_started", "new"), ("run_finished", None)]


async def test_a_database_that_is_away_holds_up_no_run_and_what_is_dropped_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_WAITING", 3)
    monkeypatch.setattr(keeping, "GATHER_S", 0.0)
    monkeypatch.setattr(keeping, "AGAIN_S", 0.0)
    async with store(tmp_path) as access:
        asked, back = asyncio.Event(), asyncio.Event()

        async def keep(pieces):
            if not back.is_set():
                asked.set()
                raise StepError("it is away", type=UNREACHABLE)
            return await access.store.events.keep(pieces)

        events = SimpleNamespace(keep=keep, after=access.store.events.after, forget=access.store.events.forget)
        async with EventKeeper.open(SimpleNamespace(store=SimpleNamespace(events=events))) as keeper:
            heard = Heard("r", keeper, None, ())
            for each in (event(1, BEGAN), began(2, "a"), ended(3, "a"), began(4, "b"), ended(5, "b"), event(6, ENDED)):
                heard.accept(each)
            await asked.wait()
            heard.end("completed")
            back.set()
        found = (await access.store.events.after({"r": 0}))["r"]
        assert [wire["seq"] for wire in found] == [1, 2, 3, 6]
        assert found[-1]["dropped"] == 2


async def test_events_go_with_their_run_and_a_run_that_is_gone_keeps_nobody_from_being_told_of(tmp_path):
    async with store(tmp_path, "r", "other") as access:
        async with EventKeeper.open(access) as keeper:
            keeper.add(KeptRun(run_id="r"), event(1, BEGAN))
            await keeper._write()
            async with access.store._transaction() as connection:
                await connection.execute(text("DELETE FROM tuvl_runs WHERE run_id = 'r'"))
            assert await kept(access) == []
            keeper.add(KeptRun(run_id="r"), began(2, "a"))
            keeper.add(KeptRun(run_id="other"), event(1, BEGAN, run_id="other"))
        assert await kept(access) == []
        assert await kept(access, "other") == [(1, "run_started", None)]


@pytest.mark.parametrize("status", ["failed", "aborted"])
async def test_a_run_that_could_not_begin_has_an_end(tmp_path, status):
    async with store(tmp_path) as access:
        async with EventKeeper.open(access) as keeper:
            Heard("r", keeper, None, ()).end(status)
        (wire,) = (await access.store.events.after({"r": 0}))["r"]
        assert (wire["type"], wire["seq"], wire["status"]) == ("run_finished", 1, status)
