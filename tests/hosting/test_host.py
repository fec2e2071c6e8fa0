"""What a host does with runs in one process: started once, waited for, answered, stopped, forked, left."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.durable.durable_project import counting
from tests.hosting.hosted_project import gated
from tuvl.clock import SystemClock
from tuvl.errors import ConfigError, InputError, UsageError
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRefused, AnswerRequest, NoSuchRun, StartRequest, WaitingRun
from tuvl.principal import ANY, Principal

OPERATOR = Principal(scopes=frozenset({ANY}))
ANN = Principal(id="ann", groups=frozenset({"finance"}))
BOB = Principal(id="bob", groups=frozenset({"finance"}))
PAY = {"verdict": "pay"}
ASK = """\
kind: Workflow
metadata: { name: ask, description: Ask a model. }
spec:
  steps:
    - { id: ask, kind: Agent, mode: autonomous, agent: { steering: Speak. } }
"""


async def until_ended(host: Host, run_id: str) -> None:
    async with asyncio.timeout(30):
        while await host.state(run_id) != "ended":
            await asyncio.sleep(0.05)


async def asked_in(host: Host, run_id: str) -> WaitingRun:
    document = await host.wait(run_id, 30)
    assert document is not None
    assert document["status"] == "suspended"
    (waiting,) = [one for one in await host.waits(OPERATOR) if one.run_id == run_id]
    return waiting


def answer(waiting: WaitingRun, by: Principal = ANN, **value: object) -> AnswerRequest:
    return AnswerRequest(digest=waiting.digest, value=value or PAY, by=by)  # type: ignore[arg-type]


async def test_a_run_is_performed_and_its_document_is_there_for_whoever_asks_later(new_site):
    with counting() as (port, counted):
        async with new_site.host() as host:
            run_id = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "x"}))
            document = await host.wait(run_id, 20)
            assert document is not None
            assert document["status"] == "completed"
        async with new_site.host(concurrency=0) as later:
            assert await later.result(run_id) == document
            assert await later.state(run_id) == "ended"
    assert counted.counts["/x/plain"] == 1


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ({"nobody": "openai/gpt-4.1"}, "`models` replaces 'nobody', which the workflow does not call"),
        ({"default": "missing"}, "`models` default=missing: the project has no AgentModel 'missing'"),
    ],
)
async def test_a_model_that_is_not_there_is_refused_at_the_start_and_nothing_is_on_record(site, models, why):
    (site.folder / "workflows" / "ask.yaml").write_text(ASK, encoding="utf-8")
    async with site.host(concurrency=0) as host:
        with pytest.raises(UsageError, match=re.escape(why)):
            await host.start(StartRequest(workflow="ask", models=models, run_id="refused"))
        with pytest.raises(NoSuchRun):
            await host.state("refused")


async def test_the_same_id_and_the_same_key_start_a_run_once(site):
    request = StartRequest(workflow="pay", input={"sum": 7})
    async with site.host(concurrency=0) as host:
        first = await host.start(replace(request, run_id="one", key="k"))
        assert await host.start(replace(request, run_id="one")) == first
        assert await host.start(replace(request, key="k")) == first
        other = await host.start(replace(request, key="k", principal=Principal(tenant="t")))
        assert other != first, "a key counts for its tenant only"
        with pytest.raises(UsageError, match="another run"):
            await host.start(replace(request, run_id="two", key="k"))
        with pytest.raises(UsageError, match="taken"):
            await host.start(replace(request, run_id="one", principal=Principal(tenant="t", scopes=frozenset())))


async def test_what_cannot_begin_leaves_nothing_behind(site):
    async with site.host(concurrency=0) as host:
        for request, error in (
            (StartRequest(workflow="pay", input={}, run_id="x"), InputError),
            (StartRequest(workflow="nosuch", run_id="x"), UsageError),
            (StartRequest(workflow="pay", input={"sum": 1}, run_id="no/id"), UsageError),
        ):
            with pytest.raises(error):
                await host.start(request)
        (site.folder / "workflows" / "broken.yaml").write_text(
            "kind: Workflow\nmetadata: { name: broken, description: B. }\nspec: { steps: [{ id: a, kind: Nothing }] }\n"
        )
        with pytest.raises(ConfigError):
            await host.start(StartRequest(workflow="broken", run_id="x"))
        with pytest.raises(NoSuchRun):
            await host.result("x")


async def test_a_question_is_answered_and_the_run_goes_on_by_itself(site):
    async with site.host() as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        waiting = await asked_in(host, run_id)
        assert (waiting.kind, waiting.groups, waiting.step) == ("question", ("finance",), "sure")
        await host.answer(run_id, answer(waiting))
        document = await host.wait(run_id, 20)
        assert document is not None
        assert document["status"] == "completed"
        assert document["context"]["paid"] == 7
        assert await host.waits(OPERATOR) == []


async def test_of_two_answers_at_once_one_counts_and_the_other_learns_whose(site):
    async with site.host() as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        waiting = await asked_in(host, run_id)
        both = await asyncio.gather(
            *(host.answer(run_id, answer(waiting, by)) for by in (ANN, BOB) for _ in range(3)), return_exceptions=True
        )
        (counts,) = [one for one in both if not isinstance(one, BaseException)]
        for refused in both:
            if refused is not counts:
                assert isinstance(refused, AnswerRefused)
                assert refused.refusal == "already_answered"
                assert f"already answered by {counts.by}" in str(refused)
        document = await host.wait(run_id, 20)
        assert document is not None
        assert document["status"] == "completed"


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"digest": "0" * 64}, "other_question"),
        ({"by": Principal(id="eve", scopes=frozenset())}, "not_allowed"),
        ({"by": Principal(id="local", groups=frozenset({"finance"}))}, "not_allowed"),
        ({"value": {"verdict": "perhaps"}}, "invalid"),
        ({"value": {}}, "invalid"),
        ({"value": {"_verdict": "pay"}}, "invalid"),
    ],
)
async def test_an_answer_that_does_not_count_changes_nothing(site, change, refusal):
    async with site.host() as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        waiting = await asked_in(host, run_id)
        with pytest.raises(AnswerRefused) as refused:
            await host.answer(run_id, replace(answer(waiting), **change))
        assert refused.value.refusal == refusal
        assert [one.digest for one in await host.waits(OPERATOR)] == [waiting.digest]


async def test_a_run_of_another_tenant_is_neither_seen_nor_answered(site):
    async with site.host() as host:
        of_tenant = Principal(id="t", tenant="t", scopes=frozenset())
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}, principal=of_tenant))
        waiting = await asked_in(host, run_id)
        stranger = Principal(id="s", tenant="s", groups=frozenset({"finance"}), scopes=frozenset())
        assert await host.waits(stranger) == []
        with pytest.raises(NoSuchRun):
            await host.answer(run_id, answer(waiting, stranger))


async def test_the_time_for_an_answer_ends_without_anybody_doing_anything_also_after_a_restart(site, an_hour_later):
    async with site.host() as host:
        run_id = await host.start(StartRequest(workflow="hurry"))
        waiting = await asked_in(host, run_id)
        assert waiting.deadline is not None
    an_hour_later()
    async with site.host() as host:
        while (document := await host.result(run_id)) is None or document["status"] == "suspended":
            await asyncio.sleep(0.05)
        assert document["status"] == "completed"
        assert document["context"]["late"] is True
        with pytest.raises(AnswerRefused):
            await host.answer(run_id, answer(waiting, verdict="too late"))


async def test_an_answer_given_in_time_counts_though_nobody_took_the_run_up_before_the_deadline(site, monkeypatch):
    async with site.host() as host:
        answered, silent = [await host.start(StartRequest(workflow="hurry")) for _ in range(2)]
        waiting, _ = [await asked_in(host, run_id) for run_id in (answered, silent)]
    async with site.host(concurrency=0) as host:
        await host.answer(answered, answer(waiting, verdict="yes"))
        assert await host.state(answered) == "queued"
    monkeypatch.setattr(SystemClock, "now", lambda self: datetime.now(UTC) + timedelta(seconds=1200))
    async with site.host() as host:
        await host.take(silent, waiting=True)  # or this process has taken it up just before, as its time is over
        for run_id, is_late in ((answered, False), (silent, True)):
            await until_ended(host, run_id)
            document = await host.result(run_id)
            assert document is not None
            assert document["status"] == "completed"
            assert ("late" in document["context"]) is is_late


@pytest.mark.parametrize("when", ["queued", "waiting", "running"])
async def test_a_run_is_stopped_wherever_it_is(site, when):
    with gated("x") as (port, _, gate):
        async with site.host(concurrency=0 if when == "queued" else 5) as host:
            if when == "running":
                run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
                await asyncio.to_thread(gate.reached.acquire)
            else:
                run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
                if when == "waiting":
                    await asked_in(host, run_id)
            assert await host.state(run_id) == when
            await host.abort(run_id, "no longer wanted", "ann")
            if when == "queued":
                assert await host.take(run_id)
            while (document := await host.result(run_id)) is None or document["status"] == "suspended":
                await asyncio.sleep(0.05)
            assert document["status"] == "aborted"
            assert "no longer wanted" in json.dumps(document["error"])
            with pytest.raises(UsageError, match="has ended"):
                await host.abort(run_id, "again", "ann")


async def test_a_fork_does_not_repeat_what_was_before_the_step_and_does_the_rest(site):
    with counting() as (port, counted):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "x"}))
            first = await host.wait(run_id, 20)
            fork = await host.fork(run_id, "each", OPERATOR)
            second = await host.wait(fork, 20)
            assert first is not None
            assert second is not None
            assert second["status"] == "completed"
            assert second["run_id"] == fork != run_id
            assert second["usage"] == first["usage"], "what was spent before the step counts for the fork, too"
            again = await host.fork(fork, "inner", OPERATOR)
            assert (await host.wait(again, 20) or {})["status"] == "completed"
            with pytest.raises(UsageError, match="has no step 'nowhere'"):
                await host.fork(run_id, "nowhere", OPERATOR)
    counts = counted.counts
    assert (counts["/x/keyed"], counts["/x/plain"], counts["/x/pay1"]) == (1, 1, 1)
    assert (counts["/x/post7"], counts["/x/deep"]) == (2, 3)


async def test_a_host_that_drains_leaves_runs_between_two_entries_and_the_next_goes_on_there(site):
    with gated("x") as (port, counted, gate):
        async with site.host() as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            await asyncio.to_thread(gate.reached.acquire)
            draining = asyncio.create_task(host.drain(20))
            later = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
            gate.opened.set()
            assert await draining == 0
            assert await host.state(run_id) == "queued"
            assert await host.state(later) == "queued", "nothing new is taken"
            assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1}, "what is in flight ends, nothing begins"
        async with site.host() as host:
            document = await host.wait(run_id, 20)
            assert document is not None
            assert document["status"] == "completed"
    assert dict(counted.counts) == {"/x/before": 1, "/x/gate": 1, "/x/after": 1}


async def test_a_run_goes_on_with_its_definition_when_the_files_have_changed_meanwhile(site):
    with gated("x") as (port, counted, gate):
        gate.opened.set()
        async with site.host(concurrency=0) as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
        file = site.folder / "workflows" / "gated.yaml"
        file.write_text(file.read_text().replace("/after", "/other"))
        async with site.host() as host:
            assert (await host.wait(run_id, 20) or {})["status"] == "completed"
            new = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
            assert (await host.wait(new, 20) or {})["status"] == "completed"
    assert (counted.counts["/x/after"], counted.counts["/x/other"]) == (1, 1)


async def test_another_machine_gets_the_definition_from_the_database(shared_site, tmp_path_factory):
    with gated("x") as (port, counted, gate):
        gate.opened.set()
        async with shared_site.host(concurrency=0) as host:
            run_id = await host.start(StartRequest(workflow="gated", input={"origin": port, "case": "x"}))
        elsewhere = replace(shared_site, folder=tmp_path_factory.mktemp("elsewhere"))
        async with elsewhere.host() as host:
            assert (await host.wait(run_id, 20) or {})["status"] == "completed"
    assert counted.counts["/x/after"] == 1


async def test_a_second_process_does_not_get_the_file_of_a_host(tmp_path, site):
    if site.url is not None:
        return  # processes share a PostgreSQL
    async with site.host(concurrency=0):
        with pytest.raises(UsageError, match="another process has"):
            async with site.host(concurrency=0):
                raise AssertionError("unreachable")
