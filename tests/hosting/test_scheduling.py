"""Schedules start each slot once, by however many processes, whenever one of them dies, and no slot of long ago."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tests.hosting.conftest import Site
from tuvl.durable.postgres import open_postgres
from tuvl.durable.schedule_state import ScheduleState
from tuvl.durable.shared_tables import SCHEMA, shared_tables
from tuvl.errors import ConfigError, UsageError
from tuvl.hosting.host import Host
from tuvl.hosting.requests import NoSuchRun, StartRequest
from tuvl.hosting.schedules import read_schedules
from tuvl.hosting.scheduling import GRACE_S, SCHEDULER, Scheduler
from tuvl.values import JsonObject

HOUR = 3600.0
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()

DUE = """\
kind: Workflow
metadata: {{ name: due, description: Be due. }}
enabled: {enabled}
spec:
  trigger: {{ schedule: "{schedule}", input: {{ origin: "{origin}" }} }}
  input: {{ type: object, properties: {{ origin: {{ type: string }} }}, required: [origin] }}
  steps:
    - id: tell
      kind: APICall
      http: {{ url: "http://127.0.0.1:{{{{ origin }}}}/tell", method: POST, json: {{}} }}
"""


def write(folder: Path, schedule: str = "*/10 * * * *", *, origin: str = "1", enabled: str = "true") -> None:
    (folder / "workflows").mkdir(exist_ok=True)
    text = DUE.format(schedule=schedule, origin=origin, enabled=enabled)
    (folder / "workflows" / "due.yaml").write_text(text, encoding="utf-8")


class Hands:
    """A database whose clock the test holds, and which knew each schedule long before, unless the test says so."""

    def __init__(self, now: float = NOON) -> None:
        self.time = now
        self.known = 0.0

    def now(self) -> float:
        return self.time

    def since(self, keys):
        return {key: min(self.known, self.time) for key in keys}


class Starts:
    """Takes down what is started."""

    def __init__(self) -> None:
        self.requests: list[StartRequest] = []
        self.fails: Exception | None = None

    async def __call__(self, request: StartRequest) -> str:
        if self.fails is not None:
            raise self.fails
        self.requests.append(request)
        return str(request.run_id)

    @property
    def slots(self) -> list[str]:
        times = [datetime.fromtimestamp(int(str(each.run_id).split("-")[1]), UTC) for each in self.requests]
        return [time.strftime("%H:%M") for time in times]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def scheduler(tmp_path: Path, hands: Hands, starts: Starts) -> Iterator[Scheduler]:
    write(tmp_path)
    return Scheduler(tmp_path, hands, starts)  # type: ignore[arg-type, return-value]


async def test_each_slot_is_started_when_it_comes(scheduler: Scheduler, hands: Hands, starts: Starts) -> None:
    await scheduler.look()
    for _ in range(4):
        hands.time += 300
        await scheduler.look()
        await scheduler.look()
    assert starts.slots == ["12:00", "12:10", "12:20"]
    assert len({each.run_id for each in starts.requests}) == 3
    assert {each.workflow for each in starts.requests} == {"due"}
    assert starts.requests[0].input == {"origin": "1"}
    assert starts.requests[0].principal == SCHEDULER


async def test_it_looks_again_at_the_next_minute(scheduler: Scheduler, hands: Hands) -> None:
    hands.time = NOON + 58.5
    assert await scheduler.look() == 1.5
    hands.time = NOON + 3
    assert await scheduler.look() == 5.0


async def test_of_the_slots_that_were_missed_only_the_latest_is_started(
    scheduler: Scheduler, hands: Hands, starts: Starts
) -> None:
    hands.time += 6 * HOUR + 125
    await scheduler.look()
    await scheduler.look()
    assert starts.slots == ["18:00"]


async def test_a_slot_that_was_missed_by_more_than_the_grace_is_not_started(
    tmp_path: Path, hands: Hands, starts: Starts
) -> None:
    write(tmp_path, "0 12 * * *")
    hands.time = NOON + GRACE_S
    await Scheduler(tmp_path, hands, starts).look()  # type: ignore[arg-type]
    assert starts.slots == []
    hands.time = NOON + GRACE_S - 1
    await Scheduler(tmp_path, hands, starts).look()  # type: ignore[arg-type]
    assert starts.slots == ["12:00"]


async def test_a_schedule_that_is_new_starts_nothing_of_the_time_before_it(
    scheduler: Scheduler, hands: Hands, starts: Starts
) -> None:
    hands.time = hands.known = NOON + 60
    await scheduler.look()
    assert starts.slots == []
    hands.time = NOON + 600
    await scheduler.look()
    assert starts.slots == ["12:10"]


async def test_a_clock_that_goes_back_starts_nothing_again(scheduler: Scheduler, hands: Hands, starts: Starts) -> None:
    await scheduler.look()
    hands.time -= 900
    await scheduler.look()
    hands.time += 901
    await scheduler.look()
    assert starts.slots == ["12:00"]


async def test_a_schedule_that_is_taken_out_of_the_file_starts_no_more(
    scheduler: Scheduler, hands: Hands, starts: Starts, tmp_path: Path
) -> None:
    await scheduler.look()
    (tmp_path / "workflows" / "due.yaml").write_text("kind: Workflow\nmetadata: { name: due }\nspec: { steps: [] }\n")
    hands.time += 600
    await scheduler.look()
    assert starts.slots == ["12:00"]
    write(tmp_path, "5-59/10 * * * *")
    hands.time += 300
    await scheduler.look()
    assert starts.slots == ["12:00", "12:15"]


async def test_a_workflow_that_is_switched_off_starts_nothing(
    scheduler: Scheduler, starts: Starts, tmp_path: Path
) -> None:
    write(tmp_path, enabled="false")
    await scheduler.look()
    assert starts.slots == []


async def test_a_slot_whose_start_failed_is_tried_again_and_told_once(
    scheduler: Scheduler, hands: Hands, starts: Starts, caplog: pytest.LogCaptureFixture
) -> None:
    starts.fails = ConfigError("the database of durable runs does not answer")
    with caplog.at_level(logging.WARNING, "tuvl.hosting"):
        await scheduler.look()
        await scheduler.look()
    assert [record.getMessage() for record in caplog.records] == [
        "workflow 'due' is due and cannot be started: the database of durable runs does not answer"
    ]
    starts.fails = None
    hands.time += 30
    await scheduler.look()
    assert starts.slots == ["12:00"]


async def test_a_time_zone_that_there_is_not_is_told_and_harms_no_other_schedule(
    scheduler: Scheduler, starts: Starts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = DUE.format(schedule="* * * * *", origin="1", enabled="true").replace("name: due", "name: other")
    (tmp_path / "workflows" / "other.yaml").write_text(other.replace("schedule:", "timezone: Mars/Base, schedule:"))
    with caplog.at_level(logging.WARNING, "tuvl.hosting"):
        await scheduler.look()
    assert "there is no time zone 'Mars/Base'" in caplog.text
    assert starts.slots == ["12:00"]


async def performed(host: Host, run_id: str) -> JsonObject | None:
    assert await host.take(run_id)
    return await host.wait(run_id, 30)


async def test_processes_that_start_one_slot_at_the_same_time_start_one_run(site: Site) -> None:
    with counting() as (port, counted):
        write(site.folder, origin=str(port))
        async with site.host(concurrency=0) as host:  # which starts nothing by itself that is due by now
            schedulers = [Scheduler(site.folder, Hands(), host.start) for _ in range(8)]  # type: ignore[arg-type]
            await asyncio.gather(*(scheduler.look() for scheduler in schedulers))
            (schedule,) = schedulers[0]._read.schedules  # type: ignore[union-attr]
            document = await performed(host, schedule.run_id(NOON))
    assert document is not None
    assert document["status"] == "completed"
    assert counted.counts["/tell"] == 1


async def test_a_slot_whose_process_died_while_it_was_started_is_started_by_another(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counting() as (port, counted):
        write(site.folder, origin=str(port))
        async with site.host(concurrency=0) as host:

            def die(*args: object, **named: object) -> None:
                raise UsageError("killed here")

            with monkeypatch.context() as patch:
                patch.setattr(host._runs, "enqueue", die)  # after the run was put on record as queued
                await Scheduler(site.folder, Hands(), host.start).look()  # type: ignore[arg-type]
            second = Scheduler(site.folder, Hands(), host.start)  # type: ignore[arg-type]
            await second.look()
            document = await performed(host, second._read.schedules[0].run_id(NOON))  # type: ignore[union-attr]
    assert document is not None
    assert document["status"] == "completed"
    assert counted.counts["/tell"] == 1


async def test_the_database_says_what_time_it_is_and_since_when_a_schedule_is_known(site: Site) -> None:
    async with site.host(concurrency=0) as host:
        state = ScheduleState(host._state)
        before = state.now()
        first = state.since([("due", "* * * * * UTC")])
        assert before <= first["due", "* * * * * UTC"] <= state.now()
        both = state.since([("due", "* * * * * UTC"), ("due", "0 * * * * UTC")])
        assert both["due", "* * * * * UTC"] == first["due", "* * * * * UTC"]
        assert both["due", "0 * * * * UTC"] > both["due", "* * * * * UTC"]


async def test_workers_that_come_up_together_start_the_slot_they_missed_once(shared_site: Site, spawn) -> None:
    with counting() as (port, counted):
        async with shared_site.host(concurrency=0) as host:
            time = datetime.fromtimestamp(ScheduleState(host._state).now() - 600, UTC)
            expression = f"{time.minute} {time.hour} * * *"
            write(shared_site.folder, expression, origin=str(port))
            assert shared_site.url is not None
            engine = open_postgres(sa.make_url(shared_site.url))
            with engine.begin() as connection:  # as if the schedule had been there yesterday
                row = {"workflow": "due", "schedule": f"{expression} UTC", "since": 0.0}
                connection.execute(shared_tables(SCHEMA).schedules.insert().values(row))
            engine.dispose()
            for _ in range(3):
                spawn(shared_site)
            (schedule,) = read_schedules(shared_site.folder, None).schedules
            run_id = schedule.run_id(int(time.timestamp()) // 60 * 60)
            while await host._registry.access.store.show(run_id, SCHEDULER) is None:
                await asyncio.sleep(0.02)
            while (document := await standing(host, run_id)) is None:
                await asyncio.sleep(0.02)
            assert document["status"] == "completed"
    assert counted.counts["/tell"] == 1


async def standing(host: Host, run_id: str) -> JsonObject | None:
    try:
        return await host.wait(run_id, 20)
    except NoSuchRun:  # on record, and not on the queue yet
        return None


async def test_file_that_may_hide_a_workflow_with_a_schedule_is_told_once(
    scheduler: Scheduler, starts: Starts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    due = tmp_path / "workflows" / "due.yaml"
    due.write_text(due.read_text(encoding="utf-8") + "x: [\n", encoding="utf-8")
    await scheduler.look()
    await scheduler.look()
    assert starts.slots == []
    (said,) = [record.getMessage() for record in caplog.records if "due.yaml" in record.getMessage()]
    assert "has a mistake that may hide a workflow, whose schedule would start nothing" in said
