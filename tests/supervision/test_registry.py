"""Live runs seen and controlled from another process: here another registry on the same store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.agent.loop_support import say
from tests.engine.run_support import Seen
from tests.sql.conftest import Database
from tests.supervision.supervised import interventions, look, recorded, supervised
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.engine.result import RunResult
from tuvl.errors import TuvlError
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive, RunInfo
from tuvl.testing.clock import ManualClock

STRANGER = Principal(id="eve", tenant="other", scopes=frozenset({"runs:read"}))
FRIEND = Principal(id="ann", tenant="acme", scopes=frozenset({"runs:read"}))


def info(run_id: str = "r1", **more: object) -> RunInfo:
    values = {"workflow": "flow", "schema_version": "v1", "principal": "ann", "tenant": "acme"}
    started = datetime(2030, 1, 1, tzinfo=UTC)
    return RunInfo(**{"run_id": run_id, "started_at": started, **values, **more})


class Unwatched(RunRegistry):
    """Looks when it is told to, and never by itself."""

    async def _watch(self) -> None:
        await self._closing.wait()


@asynccontextmanager
async def registries(database: Database, tmp_path: Path, count: int = 2) -> AsyncIterator[list[RunRegistry]]:
    """Registries of so many processes; the test makes them look, so that nothing depends on time."""
    url = database.connection if "://" in database.connection else f"sqlite:///{database.connection}"
    clock = ManualClock()
    made: list[RunRegistry] = [Unwatched(StoreAccess(str(tmp_path), url), clock=clock) for _ in range(count)]
    try:
        yield made
    finally:
        for each in made:
            await each.aclose()


async def test_a_run_is_seen_from_elsewhere_and_gone_when_it_has_ended(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            (seen,) = await other.live()
            assert (seen.run_id, seen.workflow, seen.owner, seen.paused, seen.alive) == (
                *("r1", "flow", mine.owner, False, True),
            )
            control.pause()
            await mine.look()
            assert (await other.get("r1")).paused
        await mine.look()
        assert await other.live() == []
        assert await other.get("r1") is None


async def test_what_a_run_is_told_is_done_once_and_in_order(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            first, second = Directive(kind="steer", message="one"), Directive(kind="steer", message="two")
            for directive in (first, second, first):
                assert await other.direct("r1", directive)
            assert (await other.settled(first.id)).outcome is None
            await asyncio.gather(mine.look(), mine.look())
            await mine.look()
            assert await control.checkpoint() == ["one", "two"]
            assert (await other.settled(first.id)).outcome == "applied"


async def test_pause_resume_and_abort_reach_the_run(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            for kind, wanted in (
                ("pause", (True, None)),
                ("resume", (False, None)),
                ("abort", (False, "aborted by x: so")),
            ):
                assert await other.direct("r1", Directive(kind=kind, by="x", message="so" if kind == "abort" else ""))
                await mine.look()
                assert (control.paused, control.abort_reason) == wanted


async def test_what_changes_nothing_says_so(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        with mine.register("r1", RunControl(), info()):
            await mine.look()
            resume = Directive(kind="resume")
            await other.direct("r1", resume)
            await mine.look()
            assert (await other.settled(resume.id)).note == "the run was not paused"


async def test_a_run_of_this_process_is_told_at_once(database, tmp_path):
    async with registries(database, tmp_path) as (mine, _):
        control = RunControl()
        with mine.register("r1", control, info()):
            directive = Directive(kind="abort", by="ann")
            assert await mine.direct("r1", directive)
            assert control.abort_reason == "aborted by ann"
            assert (await mine.settled(directive.id)).outcome == "applied"


async def test_what_a_run_was_told_too_late_is_void(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        with mine.register("r1", RunControl(), info()):
            await mine.look()
            late = Directive(kind="pause")
            assert await other.direct("r1", late)
        await mine.look()
        found = await other.settled(late.id)
        assert (found.outcome, found.note) == ("void", "the run ended before it was read")


async def test_nobody_can_tell_a_run_that_is_not_there(database, tmp_path):
    async with registries(database, tmp_path) as (_, other):
        assert not await other.direct("nobody", Directive(kind="pause"))


async def test_a_run_of_another_tenant_is_not_there(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        control = RunControl()
        with mine.register("r1", control, info()):
            await mine.look()
            for registry in (mine, other):
                assert await registry.live(STRANGER) == []
                assert await registry.get("r1", STRANGER) is None
                assert not await registry.direct("r1", Directive(kind="abort"), STRANGER)
                assert (await registry.get("r1", FRIEND)).run_id == "r1"
            await mine.look()
            assert not control.aborted


async def test_the_run_of_a_process_that_died_is_told_from_a_live_one(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        with mine.register("r1", RunControl(), info()):
            await mine.look()
            async with other.access.store.control._transaction() as connection:
                await connection.execute(text("UPDATE tuvl_live_runs SET beat_at = beat_at - 60"))
            (seen,) = await other.live()
            assert not seen.alive
            assert not await other.direct("r1", Directive(kind="pause"))


async def test_a_run_that_goes_on_elsewhere_belongs_to_whoever_has_it_now(database, tmp_path):
    async with registries(database, tmp_path) as (first, second):
        with first.register("r1", RunControl(), info()):
            await first.look()
            control = RunControl()
            with second.register("r1", control, info()):
                await second.look()
                assert (await second.get("r1")).owner == second.owner
                await second.direct("r1", Directive(kind="pause"))
                assert control.paused
        await first.look()  # it lets go of what is not its own any more


async def test_a_run_that_ends_soon_after_its_process_died_is_on_no_list_any_more(database, tmp_path):
    async with registries(database, tmp_path, count=3) as (died, after, other):
        row = info().row("", paused=False)
        begun = RunRow(
            run_id="r1",
            workflow="flow",
            schema_version="v1",
            principal=Principal(id="ann", tenant="acme"),
            started_at=row.started_at,
        )
        store = other.access.store
        await store.begin(begun)
        with died.register("r1", RunControl(), info()):
            await died.look()  # it is dead then, and reads nothing more
            assert await other.direct("r1", told := Directive(kind="pause"))
            with after.register("r1", RunControl(), info()):
                pass  # it ends before the registry looks
            assert [each.run_id for each in await other.live()] == ["r1"]
            await store.finish("r1", status="completed", signal=None, at=row.started_at, result=None)
            assert await other.live() == []
            assert await other.get("r1") is None
            assert not await other.direct("r1", Directive(kind="abort"))
            async with store.control._transaction() as connection:
                await connection.execute(text("UPDATE tuvl_live_runs SET beat_at = beat_at - 60"))
            with other.register("r2", RunControl(), info("r2")):
                await other.look()
                async with store.control._transaction() as connection:
                    listed = (await connection.execute(text("SELECT run_id FROM tuvl_live_runs"))).all()
            assert [run_id for (run_id,) in listed] == ["r2"]
            assert (await other.settled(told.id)).outcome == "void"


@pytest.mark.parametrize("status", ["suspended", "queued"])
async def test_a_run_that_its_process_left_without_a_word_is_on_no_list_while_nobody_has_it(status, database, tmp_path):
    """Its process could not say so when it left: the database was away."""
    async with registries(database, tmp_path) as (left, other):
        row, store = info().row("", paused=False), other.access.store
        principal = Principal(id="ann", tenant="acme")
        begun = RunRow(
            run_id="r1", workflow="flow", schema_version="v1", principal=principal, started_at=row.started_at
        )
        await store.begin(begun)
        with left.register("r1", RunControl(), info()):
            await left.look()
            if status == "queued":
                await store.requeue("r1", was="running")
            else:
                await store.finish("r1", status=status, signal=None, at=row.started_at, result=None)
            async with store.control._transaction() as connection:
                await connection.execute(text("UPDATE tuvl_live_runs SET beat_at = beat_at - 60"))
            assert await other.live() == []
            await store.reopen(begun)
            with other.register("r1", RunControl(), info()):
                await other.look()
                assert [each.run_id for each in await other.live()] == ["r1"], "until somebody goes on with it"


async def test_a_store_that_cannot_be_reached_is_told_to_whoever_asks_and_ends_no_run(tmp_path):
    registry = RunRegistry(StoreAccess(str(tmp_path), "postgresql://nobody@127.0.0.1:1/none"))
    control = RunControl()
    with registry.register("r1", control, info()):
        for asked in (registry.direct("r1", Directive(kind="pause")), registry.look(), registry.live()):
            with pytest.raises(TuvlError, match="store of runs"):
                await asked
        assert not control.paused
    await registry.aclose()


async def run_in(project, registry: RunRegistry, **options) -> RunResult:
    engine = Engine(
        ProjectIndex(project.root),
        settings=project.settings,
        environ={},
        chat_models=lambda plan: project.chat_models.get(plan.name),
        registry=registry,
    )
    try:
        return await engine.run(project.plan(), {}, run_id="r1", trace=True, **options)
    finally:
        await engine.aclose()


async def test_what_an_operator_does_is_in_events_trace_and_audit(tmp_path):
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_request):
        asked.set()
        await go_on.wait()
        return look("a")

    rule = {"when": "iteration_reached", "gte": 7, "then": "pause"}
    project = supervised(tmp_path, slow, say("done"), rules=[rule])
    mine, other, seen = (RunRegistry(StoreAccess(str(tmp_path), None)) for _ in range(2)), None, Seen()
    mine, other = mine
    run = asyncio.create_task(run_in(project, mine, sinks=[seen]))
    async with asyncio.timeout(30):
        await asked.wait()
        await mine.look()
        directive = Directive(kind="steer", message="Come to an end.", by="ann")
        assert await other.direct("r1", directive)
        found = await other.wait_settled(directive.id, 20)
        assert found.outcome == "applied"
        go_on.set()
        result = await run
    assert result.status == "completed"
    assert interventions(result) == [("steer", "ann", 0)]
    (event,) = [each.body for each in seen.events if each.body.type == "supervisor"]
    assert (event.source, event.by, event.action) == ("operator", "ann", "steer")
    (row,) = await recorded(project, "r1")
    assert (row["source"], row["by"], row["message"]) == ("operator", "ann", "Come to an end.")
    await other.aclose()


async def test_runs_that_are_not_on_record_are_not_on_the_list_and_make_no_store(tmp_path):
    project = supervised(tmp_path, say("done"), rules=[])
    registry = RunRegistry(StoreAccess(str(tmp_path), None))
    assert project.plan().supervisor is None
    assert (await run_in(project, registry)).status == "completed"
    assert not (tmp_path / ".tuvl").exists()
    assert await registry.live() == []


async def test_a_run_that_ends_before_anybody_looks_writes_nothing(database, tmp_path):
    async with registries(database, tmp_path) as (mine, _):
        with mine.register("r1", RunControl(), info()):
            await asyncio.sleep(0)
        assert mine._ended == set()
        assert await mine.live() == []


async def test_live_runs_are_told_newest_first(database, tmp_path):
    async with registries(database, tmp_path) as (mine, other):
        old, new = info("r1"), info("r2", started_at=datetime(2031, 1, 1, tzinfo=UTC))
        with mine.register("r1", RunControl(), old), mine.register("r2", RunControl(), new):
            await mine.look()
            assert [each.run_id for each in await other.live()] == ["r2", "r1"]
            assert await other.live() == [replace(each, age_s=pytest.approx(0, abs=60)) for each in await other.live()]
