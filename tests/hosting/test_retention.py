"""Runs that ended long ago are forgotten whole, and nothing else is."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated
from tests.hosting.test_takeover import gone, settled
from tuvl.clock import SystemClock
from tuvl.data.retention import OldRuns
from tuvl.data.run_records import StoreAccess
from tuvl.durable.definitions import Definitions
from tuvl.hosting import retention as of_retention
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, NoSuchRun, StartRequest
from tuvl.hosting.retention import Forgotten, Retention
from tuvl.hosting.upkeep import Upkeep
from tuvl.principal import ANY, Principal
from tuvl.settings import load_settings

PERSON = Principal(id="ann", groups=frozenset({"finance"}))
OPERATOR = Principal(scopes=frozenset({ANY}))
LATER = OldRuns(before=datetime.now(UTC) + timedelta(days=3))
"""As if somebody asked in three days."""


class At(SystemClock):
    """A clock that stands."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment


async def forget(site: Site, asked: OldRuns = LATER, *, dry_run: bool = False) -> Forgotten:
    settings = load_settings({"TUVL_DATABASE_URL": site.url or ""})
    async with aclosing(StoreAccess(str(site.folder), settings.database_url)) as access:
        return await Retention(site.folder, settings, access).forget(asked, dry_run=dry_run)


async def paid(host: Host, key: str | None = None) -> str:
    """Perform a run that has waited for a person."""
    run_id = await asking(host, key)
    await answer(host, run_id)
    async with asyncio.timeout(30):
        while (await host.wait(run_id) or {})["status"] == "suspended":
            await asyncio.sleep(0.02)
    return run_id


async def asking(host: Host, key: str | None = None) -> str:
    run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}, key=key))
    assert (await host.wait(run_id, 30) or {})["status"] == "suspended"
    return run_id


async def answer(host: Host, run_id: str) -> None:
    (waiting,) = [one for one in await host.waits(PERSON) if one.run_id == run_id]
    await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=PERSON))


@contextmanager
def databases(site: Site) -> Iterator[list[tuple[sa.Connection, str | None]]]:
    """Have every database of a site, with its schemas."""
    if site.url is not None:
        urls = [site.url.replace("postgresql:", "postgresql+psycopg:")]
    else:
        urls = [f"sqlite:///{site.folder / '.tuvl' / name}" for name in ("host.sqlite", "runs.db")]
    engines = [sa.create_engine(url, poolclass=sa.NullPool) for url in urls]
    connections = [engine.connect() for engine in engines]
    try:
        yield [(each, schema) for each in connections for schema in ((None, "tuvl") if site.url else (None,))]
    finally:
        for each in connections:
            each.close()


def tables_with(site: Site, run_id: str) -> set[str]:
    """Return every table in which there is anything of a run, whatever its columns are called."""
    found: set[str] = set()
    with databases(site) as connections:
        for connection, schema in connections:
            looks = []
            for (_, name), columns in sa.inspect(connection).get_multi_columns(schema).items():
                table = sa.table(name, *(sa.column(one["name"]) for one in columns), schema=schema)
                of_run = [sa.cast(column, sa.Text).contains(run_id) for column in table.c]
                there = sa.exists().select_from(table).where(sa.or_(*of_run))
                looks.append(sa.select(sa.literal_column(f"'{name}'")).where(there))
            if looks:
                found |= set(connection.execute(sa.union_all(*looks)).scalars())
    return found


def definitions(site: Site) -> int:
    with databases(site) as connections:
        for connection, schema in connections:
            if sa.inspect(connection).has_table("tuvl_definitions", schema):
                table = sa.table("tuvl_definitions", sa.column("digest"), schema=schema)
                return int(connection.execute(sa.select(sa.func.count(table.c.digest.distinct()))).scalar_one())
    return 0


async def test_of_a_run_that_ended_nothing_is_left_in_any_table(site: Site) -> None:
    async with site.host() as host:
        run_id = await paid(host, key="k")
    there = tables_with(site, run_id)
    assert {
        "workflow_status",
        "workflow_input",
        "workflow_output",
        "operation_outputs",
        "tuvl_waits",
        "tuvl_keys",
        "tuvl_runs",
        "tuvl_run_events",
    } <= there
    assert await forget(site, dry_run=True) == Forgotten(runs=1, definitions=0)
    assert tables_with(site, run_id) == there
    assert await forget(site) == Forgotten(runs=1, definitions=1)
    assert tables_with(site, run_id) == set()
    assert definitions(site) == 0
    assert not list((site.folder / ".tuvl" / "definitions").iterdir())
    async with site.host() as host:
        with pytest.raises(NoSuchRun):
            await host.state(run_id)
        assert await paid(host, key="k") != run_id


async def test_a_run_that_ended_later_stays_and_so_does_what_it_was_started_with(site: Site) -> None:
    async with site.host() as host:
        run_id = await paid(host)
    there = tables_with(site, run_id)  # nobody writes any more of it
    earlier = OldRuns(before=datetime.now(UTC) - timedelta(minutes=5))
    assert await forget(site, earlier) == Forgotten(runs=0, definitions=0)
    assert tables_with(site, run_id) == there
    assert definitions(site) == 1


async def test_runs_that_go_on_or_wait_stay_whole_and_come_to_their_ends(site: Site) -> None:
    with gated("x") as (port, counted, gate):
        async with site.host() as host:
            going = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            await asyncio.to_thread(gate.reached.acquire)
            waiting, old = await asking(host), await paid(host)
            assert await forget(site) == Forgotten(runs=1, definitions=0)
            assert not tables_with(site, old)
            gate.opened.set()
            assert (await host.wait(going, 30) or {})["status"] == "completed"
            await answer(host, waiting)
            async with asyncio.timeout(30):
                while (await host.wait(waiting) or {})["status"] != "completed":
                    await asyncio.sleep(0.02)
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1, "/x/after": 1}


async def test_a_run_whose_effect_has_an_unknown_end_stays_and_can_be_told(shared_site: Site, spawn) -> None:
    point = "before plain#1/end"
    with counting() as (port, counted):
        start = {"workflow": "w", "input": {"origin": str(port), "case": "x"}, "run_id": "r"}
        await gone(spawn(shared_site, kill=point, start=start))
        async with shared_site.host() as host:
            assert (await host.wait("r", 30) or {})["error"]["type"] == "outcome_unknown"
            assert (await forget(shared_site)).runs == 0
            document, asked = await settled(host, "r", point)
    assert asked
    assert document["status"] == "completed"
    assert counted.counts["/x/plain"] == 1


async def test_a_fork_goes_on_whose_first_run_is_forgotten(site: Site) -> None:
    async with site.host() as host:
        first = await paid(host)
        fork = await host.fork(first, "sure", PERSON)
        assert (await host.wait(fork, 30) or {})["status"] == "suspended"
        assert await forget(site) == Forgotten(runs=1, definitions=0)
    async with site.host() as host:
        with pytest.raises(NoSuchRun):
            await host.state(first)
        (waiting,) = await host.waits(OPERATOR)
        other = Principal(id="bob", groups=frozenset({"finance"}))
        await host.answer(fork, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=other))
        async with asyncio.timeout(30):
            while (await host.wait(fork) or {})["status"] != "completed":
                await asyncio.sleep(0.02)


async def test_many_runs_are_forgotten_in_small_transactions_and_only_such_as_are_asked_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_retention, "BATCH", 2)
    async with site.host() as host:
        runs = [await host.start(StartRequest(workflow="inner", input={"origin": "1", "case": "x"})) for _ in range(5)]
        for run_id in runs:
            assert (await host.wait(run_id, 30) or {})["status"] == "failed"
        other = await paid(host)
        assert (await forget(site, OldRuns(before=LATER.before, status="completed", workflow="inner"))).runs == 0
        both = await asyncio.gather(*(forget(site, OldRuns(before=LATER.before, status="failed")) for _ in range(2)))
        assert sum(each.runs for each in both) >= 5
    assert not any(tables_with(site, run_id) for run_id in runs)
    assert "tuvl_runs" in tables_with(site, other)


async def test_a_run_of_which_the_store_of_runs_knows_nothing_is_forgotten_too(site: Site) -> None:
    async with site.host() as host:
        run_id = await paid(host)
    with databases(site) as connections:
        for connection, schema in connections:
            for name in ("tuvl_run_events", "tuvl_runs"):
                if sa.inspect(connection).has_table(name, schema):
                    connection.execute(sa.text(f"DELETE FROM {name}"))
                    connection.commit()
    assert "workflow_status" in tables_with(site, run_id)
    assert (await forget(site)).runs == 1
    assert tables_with(site, run_id) == set()


async def test_a_definition_that_a_process_works_with_stays_though_no_run_of_it_is_left(site: Site) -> None:
    in_three_days = At(LATER.before)
    settings = load_settings({"TUVL_DATABASE_URL": site.url or "", "TUVL_RUNS_KEPT_FOR": "1d"})
    async with site.host() as host, aclosing(StoreAccess(str(site.folder), settings.database_url)) as access:
        run_id = await paid(host)
        upkeep = Upkeep(Retention(site.folder, settings, access), kept_s=settings.runs_kept_s, clock=in_three_days)

        async def used_in_three_days() -> None:
            await host.still_used()
            with databases(site) as connections:
                for connection, schema in connections:
                    if sa.inspect(connection).has_table("tuvl_definition_uses", schema):
                        uses = sa.table("tuvl_definition_uses", sa.column("last"), schema=schema)
                        connection.execute(sa.update(uses).values(last=LATER.before.timestamp()))
                        connection.commit()

        upkeep.also(used_in_three_days)
        assert (await upkeep.look() or Forgotten(runs=0, definitions=0)).runs == 1
        assert definitions(site) == 1
        assert tables_with(site, run_id) == set()


async def test_nothing_is_forgotten_by_itself_unless_somebody_has_said_for_how_long_runs_are_kept(site: Site) -> None:
    async with site.host() as host:
        run_id = await paid(host)
    settings = load_settings({"TUVL_DATABASE_URL": site.url or ""})
    async with aclosing(StoreAccess(str(site.folder), settings.database_url)) as access:
        retention = Retention(site.folder, settings, access)
        later = At(datetime.now(UTC) + timedelta(days=3650))
        assert await Upkeep(retention, kept_s=settings.runs_kept_s, clock=later).look() is None
        assert "workflow_status" in tables_with(site, run_id)
        assert await Upkeep(retention, kept_s=86_400.0, clock=later).look() == Forgotten(runs=1, definitions=1)


def test_files_of_a_definition_stay_while_a_run_may_need_them(tmp_path) -> None:
    kept = Definitions(tmp_path)
    digest = kept.keep({"a.yaml": b"kind: Workflow\n"})
    used = (tmp_path / ".tuvl" / "definitions" / digest.removeprefix("sha256:")).stat().st_mtime
    assert kept.unused(used + 5, None) == [digest]
    assert kept.unused(used - 5, None) == []
    assert kept.unused(used + 5, oldest_run=used + 1) == []
    kept.forget(digest)
    assert kept.unused(used + 5, None) == []
    assert kept.keep({"a.yaml": b"kind: Workflow\n"}) == digest
    assert kept.folder(digest).is_dir()
