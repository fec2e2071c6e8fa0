"""What a run asks that was given newer files: nobody is told that an answer counts which counts for nothing."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.durable.durable_project import counting
from tests.durable.durable_project import make_project as paying
from tests.durable.test_sealed_record import ONE
from tests.hosting.hosted_project import gated
from tests.hosting.test_forks import ANN, BOB, CALL, INPUT, OPERATOR, asked_in, ended
from tests.hosting.test_renewal import STAGED, edit, say_yes, waiting_run, write
from tuvl.durable.line_state import LineState
from tuvl.durable.shared_state import SharedState
from tuvl.hosting import renewing
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRefused, AnswerRequest, NotRenewed, StartRequest, WaitingRun
from tuvl.principal import Principal

FIN = Principal(id="fin", groups=frozenset({"finance"}), scopes=frozenset())
ASKS = '- id: {0}\n      kind: HumanInTheLoop\n      ui: {{ title: "{0}?" }}\n      human_feedback: [{1}]'
VERDICT = "{ name: verdict, type: text }"
TIMED = STAGED.replace('title: "Sure?" }', 'title: "Sure?" }\n      timeout_s: 3600\n      routes: { timeout: END }')
GUARDED = STAGED.replace('title: "Sure?" }', 'title: "Sure?" }\n      auth: { required_group: finance }')
TWICE = f"""\
kind: Workflow
metadata: {{ name: twice, description: Ask twice. }}
spec:
  input: {INPUT}
  steps:
    {ASKS.format("first", VERDICT)}
      output_key: said
    {ASKS.format("second", VERDICT)}
"""
INSIDE = f"""\
kind: Workflow
metadata: {{ name: outer, description: Ask in another workflow first of all. }}
spec:
  input: {INPUT}
  steps:
    - {{ id: ask, kind: Workflow, workflow: staged, input: {{ origin: "{{{{ origin }}}}" }}, output_key: said }}
"""
TELLS = """\
kind: Artifact
metadata: { name: tell, description: Tells. }
spec: { type: hook, on: before_step, action: notify, target: tell }
"""


@pytest.fixture(params=["plain", "encrypted"])
def staged(site, request):
    write(site.folder, STAGED)
    return site if request.param == "plain" else replace(site, keys=ONE)


@pytest.fixture
def twice(site):
    write(site.folder, TWICE, "twice")
    return site


@asynccontextmanager
async def left_waiting(site, port: int, workflow: str = "staged"):
    """A run that waits, in a host that takes no runs."""
    async with site.host() as host:
        run_id = await waiting_run(host, port, workflow)
    async with site.host(concurrency=0) as host:
        yield host, run_id


async def question_of(host: Host, run_id: str) -> WaitingRun | None:
    return next((one for one in await host.waits(OPERATOR) if one.run_id == run_id), None)


async def answer(host: Host, run_id: str, digest: str, by: Principal = BOB) -> None:
    await host.answer(run_id, AnswerRequest(digest=digest, value={"verdict": "yes"}, by=by))


async def refused(host: Host, run_id: str, digest: str, by: Principal = BOB) -> str:
    with pytest.raises(AnswerRefused) as found:
        await answer(host, run_id, digest, by)
    return found.value.refusal


async def on_record(host: Host, run_id: str) -> str:
    shown = await host._registry.access.store.show(run_id, OPERATOR)
    assert shown is not None
    return str(shown["status"])


async def stands(host: Host, run_id: str, status: str) -> None:
    async with asyncio.timeout(30):
        while await on_record(host, run_id) != status:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("older", "newer"), [(STAGED, GUARDED), (TIMED, TIMED.replace("Sure?", "Really?"))])
async def test_from_the_moment_of_newer_files_no_answer_to_the_older_question_counts(staged, older, newer):
    write(staged.folder, older)
    with counting() as (port, counted):
        async with left_waiting(staged, port) as (host, run_id):
            before = await question_of(host, run_id)
            write(staged.folder, newer)
            assert await host.renew(run_id, OPERATOR)
            assert await host.state(run_id) == "queued", "nobody has asked anew"
            assert await refused(host, run_id, before.digest) == "other_question"
            now = await question_of(host, run_id)
            assert (now.step, now.requested_by, now.deadline) == ("sure", "ann", before.deadline)
            assert now.asked != before.asked
            assert await on_record(host, run_id) == "queued"
        async with staged.host() as host:
            assert (await asked_in(host, run_id)).digest == now.digest, "what is asked is what was said"
            await answer(host, run_id, now.digest)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/more": 1}


async def test_who_may_answer_is_by_the_newer_files_before_anybody_has_asked_anew(staged):
    with counting() as (port, _):
        async with left_waiting(staged, port) as (host, run_id):
            write(staged.folder, GUARDED.replace("finance", "board"))
            assert await host.renew(run_id, OPERATOR)
            now = await question_of(host, run_id)
            assert now.groups == ("board",)
            assert await refused(host, run_id, now.digest, by=FIN) == "not_allowed"


async def test_an_answer_to_the_newer_question_counts_before_anybody_has_asked_it(staged):
    with counting() as (port, counted):
        async with left_waiting(staged, port) as (host, run_id):
            edit(staged.folder, "Sure?", "Really?")
            assert await host.renew(run_id, OPERATOR)
            await answer(host, run_id, (await question_of(host, run_id)).digest)
        async with staged.host() as host:
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/more": 1}


@pytest.mark.parametrize("workflow", ["staged", "outer"])
async def test_an_answer_counts_to_a_question_that_the_newer_files_ask_as_the_older_ones_did(site, workflow):
    write(site.folder, STAGED)
    write(site.folder, INSIDE, "outer")
    with counting() as (port, counted):
        async with left_waiting(site, port, workflow) as (host, run_id):
            before = await question_of(host, run_id)
            edit(site.folder, "/x/more", "/x/later")
            assert await host.renew(run_id, OPERATOR)
            assert await question_of(host, run_id) == before
            await answer(host, run_id, before.digest)
        async with site.host() as host:
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/later": 1}


async def test_what_is_to_be_approved_stays_so_with_newer_files_and_an_approval_counts_at_once(site):
    paying(site.folder)
    edit(site.folder, "- ref: pay\n", "- ref: pay\n            approval: required\n", "w")
    yes = {"approved": True}
    with counting() as (port, counted):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "x"}))
            before = await asked_in(host, run_id)
        async with site.host(concurrency=0) as host:
            edit(site.folder, "/deep", "/deeper", "w")
            assert await host.renew(run_id, OPERATOR)
            assert await question_of(host, run_id) == before
            await host.answer(run_id, AnswerRequest(digest=before.digest, value=yes, by=BOB))
        async with site.host() as host:
            other = await asked_in(host, run_id)
            await host.answer(run_id, AnswerRequest(digest=other.digest, value=yes, by=BOB))
            await ended(host, run_id)
    assert [counted.counts[f"/x/{name}"] for name in ("pay1", "pay3", "deep", "deeper")] == [1, 1, 0, 1]


async def test_where_the_newer_files_do_something_else_first_nothing_is_asked_meanwhile(staged):
    with counting() as (port, counted):
        async with left_waiting(staged, port) as (host, run_id):
            before = await question_of(host, run_id)
            edit(staged.folder, "    - id: sure", f"    - {CALL.format('also')}\n    - id: sure")
            assert await host.renew(run_id, OPERATOR)
            assert await question_of(host, run_id) is None
            assert await refused(host, run_id, before.digest) == "not_waiting"
        async with staged.host() as host:
            await say_yes(host, run_id)
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/also": 1, "/x/more": 1}


async def test_an_answer_that_was_taken_is_not_lost_to_newer_files_that_ask_something_else(staged):
    with counting() as (port, counted):
        async with left_waiting(staged, port) as (host, run_id):
            await answer(host, run_id, (await question_of(host, run_id)).digest)
            text = (staged.folder / "workflows" / "staged.yaml").read_text()
            write(staged.folder, text.replace("Sure?", "Really?"))
            with pytest.raises(NotRenewed, match="has an answer to what the files it has ask") as found:
                await host.renew(run_id, OPERATOR)
            assert found.value.refusal == "gone_on"
            write(staged.folder, text.replace("/x/more", "/x/later"))
            assert await host.renew(run_id, OPERATOR), "these ask the same"
        async with staged.host() as host:
            await ended(host, run_id)
    assert dict(counted.counts) == {"/x/prep": 1, "/x/later": 1}


# ---- the state of a run on record ------------------------------------------------------------------------------------


async def test_an_answer_that_comes_too_late_leaves_a_run_on_record_as_it_waits_by_then(site, monkeypatch):
    write(site.folder, STAGED)
    with counting() as (port, _):
        async with site.host() as host:
            run_id = await waiting_run(host, port)
            before, kept = await asked_in(host, run_id), host.kept

            async def meanwhile(asked: str):
                monkeypatch.undo()
                edit(site.folder, "Sure?", "Really?")
                assert await host.renew(run_id, OPERATOR)
                await stands(host, run_id, "suspended")
                assert (await asked_in(host, run_id)).digest != before.digest
                return await kept(asked)

            monkeypatch.setattr(host, "kept", meanwhile)
            assert await refused(host, run_id, before.digest) == "other_question"
            assert (await host.state(run_id), await on_record(host, run_id)) == ("waiting", "suspended")


async def test_a_run_that_waits_again_before_its_answer_is_on_record_is_on_record_as_it_waits(twice, monkeypatch):
    async with twice.host() as host:
        run_id = await waiting_run(host, 0, "twice")
        store, first = host._registry.access.store, await asked_in(host, run_id)
        requeue = store.requeue

        async def late(asked: str, **about):
            monkeypatch.undo()
            async with asyncio.timeout(30):
                while (found := await question_of(host, run_id)) is None or found.step != "second":
                    await asyncio.sleep(0.02)
            await stands(host, run_id, "suspended")
            await requeue(asked, **about)

        monkeypatch.setattr(store, "requeue", late)
        await answer(host, run_id, first.digest)
        assert (await host.state(run_id), await on_record(host, run_id)) == ("waiting", "suspended")


async def test_newer_files_that_come_too_late_leave_a_run_on_record_as_it_waits_by_then(twice, monkeypatch):
    async with twice.host() as host:
        run_id = await waiting_run(host, 0, "twice")
        first, rehearsed = await asked_in(host, run_id), renewing.rehearsed

        async def meanwhile(*about):
            monkeypatch.undo()
            found = await rehearsed(*about)
            await answer(host, run_id, first.digest)
            async with asyncio.timeout(30):
                while (now := await question_of(host, run_id)) is None or now.step != "second":
                    await asyncio.sleep(0.02)
            await stands(host, run_id, "suspended")
            return found

        monkeypatch.setattr(renewing, "rehearsed", meanwhile)
        edit(twice.folder, "Ask twice.", "Ask two times.", "twice")
        with pytest.raises(NotRenewed, match="has gone on meanwhile"):
            await host.renew(run_id, OPERATOR)
        assert (await host.state(run_id), await on_record(host, run_id)) == ("waiting", "suspended")


async def test_a_run_that_is_answered_while_it_asks_is_on_record_as_queued(site, monkeypatch):
    write(site.folder, STAGED)
    with counting() as (port, _):
        async with site.host() as host:
            run_id = await waiting_run(host, port)
            loop, suspend, was_answered = asyncio.get_running_loop(), SharedState.suspend, asyncio.Event()

            async def answered() -> None:
                host._performer._taker.take_new(False)
                await answer(host, run_id, (await question_of(host, run_id)).digest)
                was_answered.set()

            def meanwhile(state, wait, **about):
                monkeypatch.undo()
                asyncio.run_coroutine_threadsafe(answered(), loop).result(30)
                return suspend(state, wait, **about)

            monkeypatch.setattr(SharedState, "suspend", meanwhile)
            edit(site.folder, "Sure?", "Really?")
            assert await host.renew(run_id, OPERATOR)
            async with asyncio.timeout(30):
                await was_answered.wait()
                while host.running or await host.state(run_id) != "queued":
                    await asyncio.sleep(0.02)
            assert await on_record(host, run_id) == "queued"
            host._performer._taker.take_new(True)
            host._runs.idling.wake()
            await ended(host, run_id)


async def test_only_who_has_a_run_keeps_that_it_stands_in_line(site, monkeypatch):
    lined = (site.folder / "workflows" / "gated.yaml").read_text(encoding="utf-8")
    write(site.folder, lined.replace("spec:\n", "spec:\n  limits: { concurrency: 1 }\n", 1), "gated")
    with gated("x", "y", "z") as (port, _, gate):
        async with site.host() as host:
            store, states, parked = host._registry.access.store, [], []
            requeue, enter = store.requeue, LineState.enter

            async def seen(run_id: str, **about):
                states.append(await host.state(run_id))
                await requeue(run_id, **about)

            def entering(self, run_id: str, *given, **about) -> bool:
                goes_on = enter(self, run_id, *given, **about)
                if not goes_on:
                    parked.append(run_id)
                return goes_on

            monkeypatch.setattr(store, "requeue", seen)
            monkeypatch.setattr(LineState, "enter", entering)
            runs = [
                await host.start(StartRequest(workflow="gated", input={"origin": port, "case": case}, principal=ANN))
                for case in "xyz"
            ]
            async with asyncio.timeout(30):
                while len(parked) < 2:
                    await asyncio.sleep(0.02)
            gate.opened.set()
            for run_id in runs:
                await ended(host, run_id)
    assert set(states) == {"running"}


async def test_of_what_is_only_gone_through_the_hooks_of_a_workflow_inside_tell_nobody(site):
    (site.folder / "artifacts").mkdir(exist_ok=True)
    (site.folder / "artifacts" / "tell.yaml").write_text(TELLS, encoding="utf-8")
    told = f"    - {CALL.format('more')[:-2]}, routes: {{ default: END }} }}\n    - {CALL.format('tell')}\n"
    text = STAGED.replace(f"    - {CALL.format('more')}\n", told)
    write(site.folder, text.replace("  steps:\n", '  hooks: ["artifact://tell@1"]\n  steps:\n', 1))
    write(site.folder, INSIDE, "outer")
    with counting() as (port, counted):
        async with left_waiting(site, port, "outer") as (host, run_id):
            before = dict(counted.counts)
            assert before["/x/tell"] >= 1
            edit(site.folder, "Sure?", "Really?")
            assert await host.renew(run_id, OPERATOR)
            assert dict(counted.counts) == before
