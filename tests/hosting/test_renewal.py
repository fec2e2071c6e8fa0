"""A run that goes on with newer files on a database: as one in a file does, and in whichever process takes it."""

import asyncio
import os
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tests.durable.test_sealed_record import ONE
from tests.hosting.conftest import Site
from tests.hosting.hosted_project import gated, make_project
from tests.hosting.test_forks import ANN, BOB, CALL, INPUT, OPERATOR, asked_in, ended
from tests.hosting.test_takeover import frozen, gone
from tuvl.durable.definitions import is_definition
from tuvl.durable.renewals import Renewals
from tuvl.durable.retention_state import RetentionState
from tuvl.durable.row_table import rows_of
from tuvl.errors import UsageError
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRefused, AnswerRequest, NoSuchRun, NotRenewed, StartRequest
from tuvl.principal import Principal

STAGED = f"""\
kind: Workflow
metadata: {{ name: staged, description: Ask in the middle. }}
spec:
  input: {INPUT}
  steps:
    - {CALL.format("prep")}
    - id: sure
      kind: HumanInTheLoop
      ui: {{ title: "Sure?" }}
      human_feedback: [{{ name: verdict, type: text }}]
    - {CALL.format("more")}
"""
EVERYBODY = {"/x/prep": 1, "/x/more": 1}


@pytest.fixture
def staged(site):
    write(site.folder, STAGED)
    return site


def write(folder: Path, text: str, name: str = "staged") -> None:
    (folder / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")


def edit(folder: Path, old: str, new: str, name: str = "staged") -> None:
    text = (folder / "workflows" / f"{name}.yaml").read_text(encoding="utf-8")
    assert old in text
    write(folder, text.replace(old, new), name)


async def waiting_run(host: Host, port: int, workflow: str = "staged") -> str:
    run_id = await host.start(StartRequest(workflow=workflow, input={"origin": str(port)}, principal=ANN))
    await asked_in(host, run_id)
    return run_id


async def say_yes(host: Host, run_id: str, digest: str | None = None) -> None:
    """Answer what a run waits for: it may just be asking it anew."""
    async with asyncio.timeout(30):
        while await host.state(run_id) != "waiting":
            await asyncio.sleep(0.02)
    waiting = await asked_in(host, run_id)
    request = AnswerRequest(digest=digest or waiting.digest, value={"verdict": "yes"}, by=BOB)
    await host.answer(run_id, request)


async def test_a_run_that_waits_is_asked_anew_and_goes_on_with_the_newer_files(staged):
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            edit(staged.folder, "/x/more", "/x/later")
            assert await host.renew(run_id, OPERATOR)
            assert not await host.renew(run_id, OPERATOR), "it has them already"
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/later": 1}


async def test_files_that_part_from_the_record_are_refused_and_the_run_goes_on_with_those_it_has(staged):
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            _, before = await host.kept(run_id)
            edit(staged.folder, "/x/prep", "/x/other")
            with pytest.raises(NotRenewed, match="part from its record at 'prep#1/end'") as refused:
                await host.renew(run_id, OPERATOR)
            assert refused.value.refusal == "parts"
            assert (await host.kept(run_id))[1] == before
            assert await host.state(run_id) == "waiting"
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == EVERYBODY


async def test_an_answer_to_what_the_older_files_asked_is_none_to_what_the_newer_ones_ask(staged):
    with counting() as (port, _):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            before = (await asked_in(host, run_id)).digest
            edit(staged.folder, "Sure?", "Really?")
            assert await host.renew(run_id, OPERATOR)
            async with asyncio.timeout(30):
                while await host.state(run_id) != "waiting" or (await asked_in(host, run_id)).digest == before:
                    await asyncio.sleep(0.02)
            with pytest.raises(AnswerRefused, match="asks something else by now"):
                await say_yes(host, run_id, digest=before)
            await say_yes(host, run_id)
            await ended(host, run_id)


async def test_of_several_newer_files_the_last_ones_count(staged):
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            for old, new in (("more", "a"), ("a", "b"), ("b", "c")):
                edit(staged.folder, f"/x/{old}", f"/x/{new}")
                assert await host.renew(run_id, OPERATOR)
                async with asyncio.timeout(30):
                    while await host.state(run_id) != "waiting":
                        await asyncio.sleep(0.02)
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/c": 1}


async def test_the_newer_files_are_kept_as_long_as_a_run_needs_them_that_began_long_before_them(staged):
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            _, before = await host.kept(run_id)
            await asyncio.to_thread(make_older, host, run_id, days=60)
            edit(staged.folder, "/x/more", "/x/later")
            assert await host.renew(run_id, OPERATOR)
            _, after = await host.kept(run_id)
            (digest,) = [row["value"] for name, row in after.items() if name not in before]
            retention = RetentionState(host._state, host._runs.engine, host._runs.schema)
            in_a_year = time.time() + 365 * 86_400
            await asyncio.to_thread(retention.forget_definitions, unused_since=in_a_year, dry_run=False)
            assert await asyncio.to_thread(host._state.definition, digest)
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/later": 1}


def make_older(host: Host, run_id: str, *, days: float) -> None:
    table = host._state.tables.workflows
    older = sa.update(table).where(table.c.workflow_uuid == run_id)
    older = older.values(created_at=table.c.created_at - int(days * 86_400_000))
    host._state.in_transaction(lambda connection: connection.execute(older))


async def test_a_run_that_is_performed_is_refused_and_comes_to_its_end_with_the_files_it_has(site):
    with gated("x") as (port, counted, gate):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            await asyncio.to_thread(gate.reached.acquire)
            assert not await host.renew(run_id, OPERATOR), "it has these files"
            edit(site.folder, "/after", "/later", "gated")
            with pytest.raises(NotRenewed, match="is being performed") as refused:
                await host.renew(run_id, OPERATOR)
            assert refused.value.refusal == "performed"
            gate.opened.set()
            await ended(host, run_id)
            with pytest.raises(NotRenewed, match="has ended"):
                await host.renew(run_id, OPERATOR)
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1, "/x/after": 1}


async def test_what_was_gone_through_has_to_be_all_that_is_on_record(staged):
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await waiting_run(host, port)
            renewals = Renewals(host._runs)
            last, rows = await asyncio.to_thread(renewals.record, run_id, sealed=False)
            assert (last > 0, "prep#1/end" in rows) == (True, True)
            said = await asyncio.to_thread(
                renewals.renew, run_id, "sha256:none", at=0.0, after=last - 1, known=rows, asks=None
            )
            assert said == "gone_on"
            assert await asyncio.to_thread(renewals.record, run_id, sealed=False) == (last, rows)
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == EVERYBODY


async def test_a_worker_that_never_had_the_newer_files_goes_on_with_them_after_a_kill(site, spawn, tmp_path_factory):
    other = site
    with gated("x") as (port, counted, gate):
        start = {"workflow": "gated", "input": {"origin": port, "case": "x"}, "run_id": "r"}
        killed = spawn(site, start=start)
        await asyncio.to_thread(gate.reached.acquire)
        edit(site.folder, "/after", "/later", "gated")
        async with AsyncExitStack() as stack:
            if site.url is not None:
                host = await stack.enter_async_context(site.host(concurrency=0))
                with pytest.raises(NotRenewed, match="is being performed"):
                    await host.renew("r", OPERATOR)
            os.kill(killed, signal.SIGKILL)
            await gone(killed)
            if site.url is None:
                host = await stack.enter_async_context(site.host(concurrency=0))
            else:
                other = Site(make_project(tmp_path_factory.mktemp("elsewhere")), site.url)
            async with asyncio.timeout(30):
                while not await renewed(host, "r"):
                    await asyncio.sleep(0.02)
            gate.opened.set()
            if site.url is None:
                await host.take("r")
            else:
                spawn(other)
            await ended(host, "r")
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 2, "/x/later": 1}


async def renewed(host: Host, run_id: str) -> bool:
    """Whether it could be done: the lock of a process that was killed goes a moment after it."""
    try:
        return await host.renew(run_id, OPERATOR)
    except NotRenewed as refused:
        if refused.refusal != "performed":
            raise
        return False


async def test_a_frozen_process_does_nothing_more_of_a_run_that_has_newer_files(shared_site, spawn):
    with gated("x") as (port, counted, gate):
        async with shared_site.host(concurrency=0) as host:
            zombie, run_id = await frozen(host, shared_site, spawn, port, gate)
            edit(shared_site.folder, "/after", "/later", "gated")
            async with asyncio.timeout(30):
                while not await renewed(host, run_id):
                    await asyncio.sleep(0.02)
            gate.opened.set()
            os.kill(zombie, signal.SIGCONT)
            survivor = spawn(shared_site)
            await ended(host, run_id)
            for pid in (zombie, survivor):
                os.kill(pid, signal.SIGTERM)
                await gone(pid)
    assert (counted.counts["/x/before"], counted.counts["/x/later"], counted.counts["/x/after"]) == (1, 1, 0)


async def test_a_run_that_stands_in_line_does_so_no_more_when_the_newer_files_have_no_line(site):
    lined = (site.folder / "workflows" / "gated.yaml").read_text(encoding="utf-8")
    write(site.folder, lined.replace("spec:\n", "spec:\n  limits: { concurrency: 1 }\n", 1), "gated")
    with gated("x", "y") as (port, counted, gate):
        async with site.host() as host:
            first = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            await asyncio.to_thread(gate.reached.acquire)
            second = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "y"}))
            edit(site.folder, "  limits: { concurrency: 1 }\n", "", "gated")
            async with asyncio.timeout(30):
                while not await renewed(host, second):
                    await asyncio.sleep(0.02)
            await asyncio.to_thread(gate.reached.acquire)  # beside the first one
            gate.opened.set()
            for run_id in (first, second):
                await ended(host, run_id)
    assert counted.counts["/y/before"] == 1


async def test_newer_files_need_the_rights_of_the_run_and_are_for_its_tenant(staged):
    ann = Principal(id="ann", tenant="a", scopes=frozenset())
    with counting() as (port, counted):
        async with staged.host() as host:
            run_id = await host.start(StartRequest(workflow="staged", input={"origin": str(port)}, principal=ann))
            await asked_in(host, run_id)
            edit(staged.folder, "description:", "required_scope: refunds, description:")
            with pytest.raises(UsageError, match="needs the scope 'refunds'"):
                await host.renew(run_id, OPERATOR)
            edit(staged.folder, "required_scope: refunds, ", "")
            edit(staged.folder, "/x/more", "/x/later")
            with pytest.raises(NoSuchRun):
                await host.renew(run_id, Principal(id="eve", tenant="b", scopes=frozenset({"runs:control"})))
            assert await host.state(run_id) == "waiting"
    assert dict(counted.counts) == {"/x/prep": 1}


async def test_of_a_run_that_is_encrypted_the_files_it_goes_on_with_are_on_record_encrypted(staged):
    sealed = replace(staged, keys=ONE)
    with counting() as (port, counted):
        async with sealed.host() as host:
            run_id = await waiting_run(host, port)
            edit(staged.folder, "/x/more", "/x/later")
            assert await host.renew(run_id, OPERATOR)
            found = await asyncio.to_thread(rows_of, host._runs.engine, host._runs.schema, [run_id])
            _, kept = found[run_id]
            (entry,) = [row for name, row in kept.items() if is_definition(name)]
            assert "sealed" in entry
            assert "sha256" not in str(entry)
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/later": 1}


@pytest.mark.parametrize("kind", ["file", "database"])
def test_the_command_goes_on_with_newer_files_wherever_the_run_is_kept(kind, run, tmp_path, request):
    environ = {} if kind == "file" else {"TUVL_DATABASE_URL": request.getfixturevalue("postgres_url")}
    write(make_project(tmp_path), STAGED.replace("    - id: sure", f"    - {CALL.format('rest')}\n    - id: sure"))
    (tmp_path / "yes.yaml").write_text("verdict: yes\n")
    renew = ("resume", "r1", "--on-new-definition", "--events", "none")

    def tuvl(*words, kill=None):
        return run.tuvl(*words, cwd=tmp_path, kill=kill, environ=environ)

    with counting() as (port, counted):
        start = ("run", "staged", "--durable", "--set", f"origin={port}", "--events", "none")
        assert tuvl(*start, kill="before rest#1/end!1").code == -9
        run_id = tuvl("runs", "list").out.split()[0]
        renew = ("resume", run_id, "--on-new-definition")
        edit(tmp_path, "/x/prep", "/x/other")
        while "is being performed" in (refused := tuvl(*renew)).err:
            pass  # the session of the process that was killed has a moment to end
        assert (refused.code, refused.out) == (2, ""), refused.err
        assert (
            f"run {run_id!r} cannot go on with the files as they are now: they part from its record at" in refused.err
        )
        assert dict(counted.counts) == {"/x/prep": 1}
        edit(tmp_path, "/x/other", "/x/prep")
        edit(tmp_path, "/x/rest", "/x/newer")
        asked = tuvl(*renew)
        assert asked.code == 3, asked.err
        assert dict(counted.counts) == {"/x/prep": 1, "/x/newer": 1}
        edit(tmp_path, "/x/more", "/x/later")
        done = tuvl(*renew, "--answer", "yes.yaml")
        assert done.code == 0, done.err
        assert dict(counted.counts) == {"/x/prep": 1, "/x/newer": 1, "/x/later": 1}
        again = tuvl(*renew)
        assert (again.code, again.document) == (0, done.document), again.err
