"""`TUVL_RECORD_KEY` for runs that share a database: nothing said is found in it, and who lacks the key leaves them."""

import asyncio
import json
import os
from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.durable.durable_project import counting
from tests.hosting.hosted_project import gated
from tests.hosting.test_host import ANN, OPERATOR, asked_in
from tests.hosting.test_takeover import gone
from tuvl.durable.shared_tables import SCHEMA
from tuvl.errors import UsageError
from tuvl.hosting.requests import AnswerRequest, StartRequest
from tuvl.sealing import Unopened
from tuvl.supervision.runs import Directive

ONE, TWO = "Vf0d1m+0cE9xPp1k7u8o9R5yq3s2t1v0w/x4y5z6A7A=", "mZ8s7d6f5g4h3j2k1l0qwertyuiopASDFGHJKLzxcvA="

TALK = """\
kind: Workflow
metadata: { name: talk, description: Say a lot. }
spec:
  input:
    type: object
    properties: { origin: { type: string }, case: { type: string } }
    required: [origin, case]
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Sure of {{ case }}?", display_context: [case] }
      human_feedback: [{ name: said, type: text }]
      output_key: heard
      routes: { default: agent }
    - id: agent
      kind: Agent
      mode: autonomous
      description: Talk.
      agent:
        model: talk
        steering: Talk.
        max_iterations: 6
        tools: [{ ref: wait, parameters: { type: object, properties: {} } }]
      routes: { default: fault }
    - id: fault
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/gate/fault" }
      response: { output_key: found }
    - { id: stop, kind: Functional, runner: fail, message: "it is {{ found.fault }}" }
    - id: wait
      kind: APICall
      description: Wait.
      http: { url: "http://127.0.0.1:{{ origin }}/gate/gate", timeout: 120 }
      response: { output_key: seen }
"""
MODEL = """\
kind: AgentModel
metadata: { name: talk }
spec:
  provider: scripted
  replies:
    - tool_calls: [{ id: c1, name: wait, arguments: {} }]
    - text: done
    - text: done
"""
SAID = {
    "input": "marker-of-the-input",
    "tool": "marker-of-a-tool",
    "answer": "marker-of-an-answer",
    "steer": "marker-of-a-steer",
    "error": "marker-of-an-error",
    "reason": "marker-of-a-reason",
}


def talking(site, keys: str = ONE):
    (site.folder / "workflows" / "talk.yaml").write_text(TALK, encoding="utf-8")
    (site.folder / "llms" / "talk.yaml").write_text(MODEL, encoding="utf-8")
    return replace(site, keys=keys)


def everything(site) -> str:
    """Return all that the databases hold, whatever table or file it is in."""
    if site.url is None:
        files = [path for path in (site.folder / ".tuvl").iterdir() if path.is_file()]
        assert {"host.sqlite", "runs.db"} <= {path.name for path in files}
        return "\n".join(path.read_bytes().decode("latin-1") for path in files)
    engine = sa.create_engine(site.url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.connect() as connection:
            tables = connection.execute(
                sa.text(
                    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
                    " AND table_schema NOT IN ('pg_catalog', 'information_schema')"
                )
            ).all()
            assert {(SCHEMA, "operation_outputs"), ("public", "tuvl_runs")} <= {tuple(row) for row in tables}
            rows = (
                connection.execute(sa.text(f'SELECT whole::text FROM "{schema}"."{table}" whole')).scalars()
                for schema, table in tables
            )
            return "\n".join(text for table in rows for text in table)
    finally:
        engine.dispose()


def found_in(text: str) -> set[str]:
    return {name for name, marker in SAID.items() if marker in text}


async def talked(site, found: list[set[str]]) -> dict:
    """Have a run that says everything, and look at the database while it waits, while it goes on, and at its end."""
    with gated("gate") as (port, counted, gate):
        counted.bodies.update({"/gate/gate": {"seen": SAID["tool"]}, "/gate/fault": {"fault": SAID["error"]}})
        async with site.host() as host:
            given = StartRequest(workflow="talk", input={"origin": port, "case": SAID["input"]})
            run_id, other = await host.start(given), await host.start(given)
            waiting = await asked_in(host, run_id)
            assert waiting.message.endswith(f"Sure of {SAID['input']}?")
            await asked_in(host, other)
            found.append(found_in(everything(site)))
            await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"said": SAID["answer"]}, by=ANN))
            await asyncio.to_thread(gate.reached.acquire)
            await host._registry.direct(run_id, Directive(kind="steer", message=SAID["steer"]), OPERATOR)
            await host.abort(other, SAID["reason"], by="ann")
            aborted = await host.wait(other, 30)
            found.append(found_in(everything(site)))
            gate.opened.set()
            document = await host.wait(run_id, 30)
            forked = await host.fork(run_id, "agent", ANN)
            await host.wait(forked, 30)
        found.append(found_in(everything(site)))
        assert aborted is not None
        assert SAID["reason"] in json.dumps(aborted)
        assert document is not None
        return document


async def test_nothing_that_was_said_is_found_in_the_database(site):
    found: list[set[str]] = []
    keyed = talking(site)
    document = await talked(keyed, found)
    assert found_in(json.dumps(document)) == {"input", "answer", "error"}
    assert found == [set(), set(), set()]
    async with keyed.host(concurrency=0) as host:
        started, rows = await host.kept(document["run_id"])
        assert found_in(json.dumps([started.input, rows])) == {"input", "tool", "answer", "error", "steer"}
        shown = await host._registry.access.store.show(document["run_id"], OPERATOR)
        assert shown is not None
        assert SAID["error"] in shown["error"]["message"]


async def test_without_a_key_all_of_it_is_found(site):
    found: list[set[str]] = []
    await talked(talking(site, ""), found)
    assert found[0] == {"input"}
    assert found[-1] == set(SAID), "else the test above would look in the wrong places"


@pytest.mark.parametrize("others", ["", TWO])
async def test_who_lacks_the_key_leaves_a_lost_run_to_who_has_it(others, shared_site, spawn):
    keyed, lacking = replace(shared_site, keys=ONE), replace(shared_site, keys=others)
    with counting() as (port, counted):
        start = {"workflow": "w", "input": {"origin": str(port), "case": "x"}, "run_id": "lost"}
        await gone(spawn(keyed, kill="after plain#1/end", start=start))
        before = dict(counted.counts)
        async with lacking.host() as host:
            # It takes over what the dead process had, and performs what it can open.
            async with asyncio.timeout(30):
                while (await asyncio.to_thread(status_of, shared_site, "lost"))[0] != "ENQUEUED":
                    await asyncio.sleep(0.05)
            own = await host.start(StartRequest(workflow="w", input={"origin": str(port), "case": "own"}))
            assert (await host.wait(own, 30) or {})["status"] == "completed"
            for asked in (host.state, host.result, host.take, host.kept):
                with pytest.raises(Unopened, match="TUVL_RECORD_KEY"):
                    await asked("lost")
            assert await asyncio.to_thread(status_of, shared_site, "lost") == ("ENQUEUED", "tuvl.runs")
        assert {path: count for path, count in counted.counts.items() if path.startswith("/x/")} == before
        async with keyed.host() as host:
            document = await host.wait("lost", 30)
    assert document is not None
    assert document["status"] == "completed"
    assert counted.counts["/x/plain"] == 1
    assert document["context"]["at"] == "x"


def status_of(site, run_id: str) -> tuple[str, str]:
    engine = sa.create_engine(site.url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.connect() as connection:
            query = sa.text(f"SELECT status, queue_name FROM {SCHEMA}.workflow_status WHERE workflow_uuid = :run")
            return tuple(connection.execute(query, {"run": run_id}).one())
    finally:
        engine.dispose()


async def waiting_with(site, keys: str) -> str:
    async with replace(site, keys=keys).host() as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        await asked_in(host, run_id)
        return run_id


async def paid_with(site, keys: str, run_id: str) -> dict:
    async with replace(site, keys=keys).host() as host:
        (waiting,) = [one for one in await host.waits(OPERATOR) if one.run_id == run_id]
        await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=ANN))
        document = await host.wait(run_id, 30)
        assert document is not None
        assert document["context"]["paid"] == 7
        return document


async def test_a_run_goes_on_with_a_new_key_as_long_as_the_old_one_is_there(site):
    run_id = await waiting_with(site, ONE)
    document = await paid_with(site, f"{TWO},{ONE}", run_id)
    async with replace(site, keys=f"{ONE},{TWO}").host(concurrency=0) as host:
        assert await host.result(run_id) == document
    for keys in (ONE, TWO):
        async with replace(site, keys=keys).host(concurrency=0) as host:
            with pytest.raises(Unopened, match="another key"):
                await host.kept(run_id)


async def test_a_run_begun_in_plain_text_goes_on_with_a_key_and_no_more_without(site):
    run_id = await waiting_with(site, "")
    document = await paid_with(site, ONE, run_id)
    async with replace(site, keys=ONE).host(concurrency=0) as host:
        assert await host.result(run_id) == document
    async with site.host(concurrency=0) as host:
        with pytest.raises(Unopened, match="is encrypted; set TUVL_RECORD_KEY"):
            await host.result(run_id)


async def test_a_list_of_what_waits_says_of_what_it_cannot_open_that_it_is_encrypted(site):
    run_id = await waiting_with(site, ONE)
    async with replace(site, keys=TWO).host(concurrency=0) as host:
        (waiting,) = await host.waits(OPERATOR)
        assert (waiting.run_id, waiting.step, waiting.kind) == (run_id, "sure", "question")
        assert "TUVL_RECORD_KEY" in waiting.message
        assert not waiting.asked
        with pytest.raises(Unopened):
            await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=ANN))
        with pytest.raises(Unopened):
            await host.abort(run_id, "no", by="ann")
    await paid_with(site, ONE, run_id)


async def test_a_run_that_somebody_has_changed_is_laid_aside_and_goes_on_when_that_is_mended(site):
    keyed = replace(site, keys=ONE)
    async with keyed.host(concurrency=0) as host:
        run_id = await host.start(StartRequest(workflow="pay", input={"sum": 7}))
        whole = await asyncio.to_thread(given_of, host, run_id)
        token = json.loads(whole)["positionalArgs"][0]["sealed"]
        await asyncio.to_thread(give, host, run_id, whole.replace(token[-12:], "AAAAAAAAAAA="))
    async with keyed.host() as host:
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(host._state.lacks_key, run_id):
                await asyncio.sleep(0.02)
        with pytest.raises(Unopened, match="somebody has changed it"):
            await host.take(run_id)
        other = await host.start(StartRequest(workflow="pay", input={"sum": 8}))
        await asked_in(host, other)
        await asyncio.to_thread(give, host, run_id, whole)
        await host.take(run_id)  # or this process has taken it off the queue just before
        await asked_in(host, run_id)


@pytest.mark.parametrize("forged", [True, False])
async def test_an_answer_that_somebody_has_changed_is_never_taken_for_one(forged, site):
    run_id = await waiting_with(site, ONE)
    async with replace(site, keys=ONE).host(concurrency=0) as host:
        (waiting,) = await host.waits(OPERATOR)
        await host.answer(run_id, AnswerRequest(digest=waiting.digest, value={"verdict": "pay"}, by=ANN))
        waits = host._state.tables.waits

        def change(answer: dict) -> dict:
            with host._runs.engine.begin() as connection:
                before = connection.execute(sa.select(waits.c.answer)).scalar_one()
                connection.execute(sa.update(waits).values(answer=answer))
                return before

        kept = await asyncio.to_thread(change, {"answer": {"verdict": "leave"}})
        assert kept.keys() == {"sealed"}
        if not forged:
            await asyncio.to_thread(change, {"sealed": kept["sealed"][:-12] + "AAAAAAAAAAA="})
    async with replace(site, keys=ONE).host() as host:
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(host._state.lacks_key, run_id):
                await asyncio.sleep(0.02)
        with pytest.raises(Unopened, match="somebody has changed it"):
            await host.take(run_id)
        with host._runs.engine.begin() as connection:
            connection.execute(sa.update(waits).values(answer=kept))
        await host.take(run_id)  # or this process has taken it off the queue just before
        assert (await host.wait(run_id, 30) or {})["context"]["paid"] == 7


def given_of(host, run_id: str) -> str:
    with host._runs.engine.connect() as connection:
        query = sa.text(f"SELECT inputs FROM {inputs(host)} WHERE workflow_uuid = :run")
        return connection.execute(query, {"run": run_id}).scalar_one()


def give(host, run_id: str, text: str) -> None:
    with host._runs.engine.begin() as connection:
        change = sa.text(f"UPDATE {inputs(host)} SET inputs = :text WHERE workflow_uuid = :run")
        assert connection.execute(change, {"run": run_id, "text": text}).rowcount == 1


def inputs(host) -> str:
    return "workflow_input" if host._runs.schema is None else f"{host._runs.schema}.workflow_input"


async def test_a_key_that_is_none_is_told_before_anything_is_opened(new_site):
    with pytest.raises(UsageError, match="a key is 32 bytes in Base64"):
        async with replace(new_site, keys="c2hvcnQ=").host():
            pass
    assert ".tuvl" not in os.listdir(new_site.folder)
