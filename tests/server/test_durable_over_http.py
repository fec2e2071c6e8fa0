"""Durable runs over HTTP: kept, answered exactly once, aborted while they wait, gone on with by the next process."""

import asyncio
import sqlite3
from contextlib import closing
from zoneinfo import ZoneInfo

from tests.server.server_support import GATED, QUESTION, events_of, problem, serving, shop
from tests.support.gates import opened, reached
from tuvl.analysis.cron import parse_cron
from tuvl.durable import sqlite_file
from tuvl.hosting.requests import StartRequest
from tuvl.hosting.schedules import Schedule
from tuvl.hosting.scheduling import SCHEDULER

GREETED = {"workflow": "quick", "input": {"name": "Ada"}}


def asking(root):
    project = shop(root)
    project.workflow(QUESTION, name="asking")
    return project


async def settled(client, run_id: str) -> dict:
    async with asyncio.timeout(30):
        while True:
            async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
                await events_of(stream)
            shown = (await client.get(f"/api/runs/{run_id}")).json()
            if shown["status"] not in {"queued", "running"}:
                return shown


async def test_a_start_while_the_database_cannot_be_written_is_to_be_tried_again_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_S", 1.0)
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        with closing(sqlite3.connect(tmp_path / ".tuvl" / "host.sqlite", isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            refused = await client.post("/api/runs", json={**GREETED, "mode": "detached"})
            assert "cannot be used just now" in problem(refused, 503, "store-unreachable")["detail"]
            assert refused.headers["retry-after"] == "5"
        again = await client.post("/api/runs", json={**GREETED, "durable": True})
        assert (again.status_code, again.json()["status"]) == (200, "completed")


async def test_durable_runs_are_started_in_every_way(tmp_path):
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        waited = await client.post("/api/runs", json={**GREETED, "durable": True})
        assert (waited.status_code, waited.json()["context"]["greeting"]) == (200, "Hello Ada")
        detached = await client.post("/api/runs", json={**GREETED, "mode": "detached"})
        assert detached.status_code == 202
        assert (await settled(client, detached.json()["run_id"]))["status"] == "completed"
        async with client.stream("POST", "/api/runs", json={**GREETED, "durable": True, "mode": "stream"}) as stream:
            types = [event["type"] for event in await events_of(stream)]
        assert types[0] == "run_started"
        assert types.count("run_finished") == 1
        assert types[-1] == "run_finished"
        metrics = (await client.get("/metrics")).text
        assert 'tuvl_runs_started_total{durable="true",workflow="quick"} 3.0' in metrics


async def test_a_detached_start_that_is_repeated_tells_where_its_run_stands_by_now(tmp_path):
    async with serving(asking(tmp_path), durable=True) as server:
        client = await server.client()
        for number, (body, status) in enumerate((({"workflow": "asking"}, "suspended"), (GREETED, "completed"))):
            for durable in {True, status != "suspended"}:
                asked = {**body, "mode": "detached", "durable": durable}
                headers = {"Idempotency-Key": f"again-{number}-{durable}"}
                first = await client.post("/api/runs", json=asked, headers=headers)
                assert first.json()["status"] in {"queued", "running", status}
                await settled(client, first.json()["run_id"])
                again = await client.post("/api/runs", json=asked, headers=headers)
                assert (again.status_code, again.json()) == (202, {**first.json(), "status": status})


async def test_durable_runs_are_counted_from_their_start_to_their_end(tmp_path):
    async with serving(asking(tmp_path), durable=True) as server:
        client = await server.client()

        async def counted(name: str) -> float:
            lines = (await client.get("/metrics")).text.splitlines()
            return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

        body = {"workflow": "gated", "input": {"gate": "metered"}, "mode": "detached"}
        headers = {"Idempotency-Key": "metered"}
        run_id = (await client.post("/api/runs", json=body, headers=headers)).json()["run_id"]
        await client.post("/api/runs", json=body, headers=headers)
        await reached("metered")
        assert await counted("tuvl_runs_running") == 1
        opened("metered")
        await settled(client, run_id)
        waits = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        assert await counted('tuvl_runs_ended_total{status="suspended"') == 0, "it waits, and has not ended"
        await client.post(f"/api/runs/{waits}/abort")
        await settled(client, waits)
        forked = await client.post(f"/api/runs/{run_id}/fork", json={"at": "hold"})
        assert forked.status_code == 202, forked.text
        await settled(client, forked.json()["run_id"])
        async with asyncio.timeout(20):
            while await counted("tuvl_runs_ended_total") < 3 or await counted("tuvl_runs_running"):
                pass
        assert await counted('tuvl_runs_started_total{durable="true",workflow="gated"}') == 2
        assert await counted('tuvl_runs_ended_total{status="completed",workflow="gated"}') == 2
        assert await counted('tuvl_runs_ended_total{status="aborted",workflow="asking"}') == 1
        assert await counted('tuvl_run_seconds_count{workflow="gated"}') == 2


async def test_a_run_of_a_schedule_counts_as_started_once_where_it_begins(tmp_path):
    every = "* * * * *"
    due = Schedule(
        workflow="asking", expression=every, timezone="UTC", cron=parse_cron(every), zone=ZoneInfo("UTC"), input={}
    )
    async with serving(asking(tmp_path), durable=True) as server:
        client, host = await server.client(), server.services.durable.host
        for slot in (60.0, 60.0, 120.0):
            request = StartRequest(workflow="asking", principal=SCHEDULER, run_id=due.run_id(slot))
            run_id = await host.start(request)
            assert (await host.wait(run_id, 30))["status"] == "suspended"
        for wait in (await client.get("/api/waits")).json()["waits"]:
            answer = {"digest": wait["digest"], "value": {"refund": True}}
            await client.post(f"/api/runs/{wait['run_id']}/answer", json=answer)
            assert (await settled(client, wait["run_id"]))["status"] == "completed"
        await client.post("/api/runs", json={"workflow": "asking"})
        lines = (await client.get("/metrics")).text.splitlines()
        assert 'tuvl_runs_started_total{durable="true",workflow="asking"} 3.0' in lines


async def test_a_question_is_listed_answered_once_under_a_race_and_the_run_goes_on(tmp_path):
    async with serving(asking(tmp_path), durable=True) as server:
        client = await server.client()
        asked = await client.post("/api/runs", json={"workflow": "asking"})
        assert (asked.status_code, asked.json()["status"]) == (202, "suspended")
        run_id = asked.json()["run_id"]
        (wait,) = (await client.get("/api/waits")).json()["waits"]
        assert (wait["run_id"], wait["kind"], wait["step"]) == (run_id, "question", "ask")
        path = f"/api/runs/{run_id}/answer"
        good = {"digest": wait["digest"], "value": {"refund": True}}
        problem(await client.post(path, json={**good, "digest": "x"}), 409, "answer-other-question")
        problem(await client.post(path, json={**good, "value": {"refund": "yes"}}), 422, "answer-invalid")
        nowhere = await client.post(f"/api/runs/{'0' * 32}/answer", json=good)
        stranger = await server.client(tenant="b")
        assert (await stranger.post(path, json=good)).content == nowhere.content
        assert (await stranger.get("/api/waits")).json() == {"waits": []}
        people = [await server.client(id=f"person{number}") for number in range(4)]
        answers = await asyncio.gather(*(person.post(path, json=good) for person in people))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        winner = next(answer.json()["by"] for answer in answers if answer.status_code == 200)
        for answer in answers:
            if answer.status_code == 409:
                assert winner in problem(answer, 409, "answer-already-answered")["detail"]
        shown = await settled(client, run_id)
        assert (shown["status"], shown["result"]["context"]["heard"]) == ("completed", True)
        problem(await client.post(path, json=good), 409, "answer-already-answered")


async def test_a_run_that_waits_can_be_aborted_and_one_that_has_ended_cannot(tmp_path):
    async with serving(asking(tmp_path), durable=True) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        stranger = await server.client(tenant="b")
        problem(await stranger.post(f"/api/runs/{run_id}/abort"), 404, "unknown-run")
        problem(await stranger.post(f"/api/runs/{run_id}/fork", json={"at": "ask"}), 404, "unknown-run")
        assert (await client.post(f"/api/runs/{run_id}/abort", json={"message": "no more"})).status_code == 202
        shown = await settled(client, run_id)
        assert shown["status"] == "aborted"
        assert "aborted by ci: no more" in shown["error"]["message"]
        problem(await client.post(f"/api/runs/{run_id}/abort"), 409, "has-ended")


async def test_a_client_that_leaves_ends_its_durable_run_unless_that_was_detached(tmp_path):
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        impatient = server.anyone(Authorization=client.headers["authorization"])
        body = {"workflow": "gated", "input": {"gate": "durable-left"}, "durable": True}
        task = asyncio.create_task(impatient.post("/api/runs", json=body))
        await reached("durable-left")
        (run_id,) = server.services.durable.host.running
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shown = await settled(client, run_id)
        assert shown["status"] == "aborted"
        assert "its client has left" in shown["error"]["message"]


async def test_a_paused_durable_run_holds_no_server_up_and_is_paused_in_the_next(tmp_path):
    project = shop(tmp_path)
    again = "- {id: again, kind: Functional, runner: gate, effects: read}\n- {id: done"
    project.workflow(GATED.replace("- {id: done", again), name="parked")
    async with serving(project, durable=True, grace_s=600) as server:
        client = await server.client()
        token = client.headers["authorization"]
        body = {"workflow": "parked", "input": {"gate": "parked"}, "mode": "detached"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("parked")
        told = await client.post(f"/api/agents/{run_id}/pause")
        assert told.json()["outcome"] == "applied"
        opened("parked")
        async with asyncio.timeout(30):
            while not (await client.get(f"/api/agents/{run_id}")).json()["paused"]:
                pass
            server.stop.set()
            await asyncio.shield(server.task)
    async with serving(project, durable=True) as server, asyncio.timeout(30):
        client = server.anyone(Authorization=token)
        while not (await client.get(f"/api/agents/{run_id}")).json().get("paused"):
            pass
        assert (await client.get(f"/api/runs/{run_id}")).json()["status"] in {"queued", "running"}
        assert (await client.post(f"/api/agents/{run_id}/resume")).json()["outcome"] == "applied"
        shown = await settled(client, run_id)
        assert (shown["status"], shown["result"]["context"]["passed"]) == ("completed", True)


async def test_a_durable_run_that_a_server_leaves_is_gone_on_with_by_the_next(tmp_path):
    async with serving(shop(tmp_path), durable=True, grace_s=0.1) as server:
        client = await server.client()
        token = client.headers["authorization"]
        body = {"workflow": "gated", "input": {"gate": "next"}, "mode": "detached"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("next")
        watched = asyncio.create_task(client.get(f"/api/runs/{run_id}/events"))
        body = {"workflow": "gated", "input": {"gate": "next-waited"}, "durable": True}
        waiting = asyncio.create_task(server.anyone(Authorization=token).post("/api/runs", json=body))
        await reached("next-waited")
        while not server.services.streams.open:
            await asyncio.sleep(0)
        server.stop.set()
        text = (await watched).text
        assert "run_finished" not in text, "it has not ended, and nobody says so"
        waited = await waiting
        assert waited.status_code == 202, "it was begun: who starts again would start another one"
        assert "retry-after" not in waited.headers
        where = waited.json()
        assert (where["workflow"], where["status"] in ("queued", "running")) == ("gated", True)
        assert waited.headers["location"] == f"/api/runs/{where['run_id']}"
    opened("next")
    opened("next-waited")
    async with serving(shop(tmp_path), durable=True) as server:
        client = server.anyone(Authorization=token)
        for run in (f"/api/runs/{run_id}", waited.headers["location"]):
            shown = await settled(client, run.rpartition("/")[2])
            assert shown["status"] == "completed"


async def test_one_key_is_one_durable_run(tmp_path):
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        body, headers = {**GREETED, "durable": True}, {"Idempotency-Key": "d"}
        answers = await asyncio.gather(*(client.post("/api/runs", json=body, headers=headers) for _ in range(4)))
        assert len({answer.json()["run_id"] for answer in answers}) == 1
        later = await client.post("/api/runs", json={**body, "mode": "detached"}, headers=headers)
        assert (later.status_code, later.json()["run_id"]) == (202, answers[0].json()["run_id"])
        other = await client.post("/api/runs", json={**body, "timeout_s": 5}, headers=headers)
        problem(other, 422, "key-reused")
        assert len((await client.get("/api/runs")).json()["runs"]) == 1


async def test_without_the_extra_durable_runs_are_refused_and_others_are_not(tmp_path):
    async with serving(asking(tmp_path)) as server:
        client = await server.client()
        said = problem(await client.post("/api/runs", json={**GREETED, "durable": True}), 409, "not-runnable")
        assert "durable" in said["detail"]
        problem(await client.post("/api/runs", json={"workflow": "asking"}), 409, "not-runnable")
        assert (await client.get("/api/waits")).json() == {"waits": []}
        detached = await client.post("/api/runs", json={**GREETED, "mode": "detached"})
        assert detached.status_code == 202


async def test_whoever_asked_for_the_run_before_a_fork_sees_that_it_waits_and_why_they_get_no_form(tmp_path):
    project = asking(tmp_path)
    project.workflow(
        QUESTION.replace("kind: HumanInTheLoop", "kind: HumanInTheLoop\n  auth: {required_group: desk}"), name="refund"
    )
    async with serving(project, durable=True) as server:
        anna, bob, carl = [
            await server.client(*("runs:start", "runs:read", "runs:control"), id=id, groups=("desk",))
            for id in ("anna", "bob", "carl")
        ]
        first = (await anna.post("/api/runs", json={"workflow": "refund"})).json()["run_id"]
        (wait,) = (await carl.get("/api/waits")).json()["waits"]
        answer = {"digest": wait["digest"], "value": {"refund": True}}
        assert (await carl.post(f"/api/runs/{first}/answer", json=answer)).status_code == 200
        await settled(anna, first)
        forked = (await bob.post(f"/api/runs/{first}/fork", json={"at": "ask"})).json()["run_id"]
        await settled(bob, forked)

        async def seen_by(who):
            waits = {wait["run_id"]: wait for wait in (await who.get("/api/waits")).json()["waits"]}
            return waits[forked]

        for who, why in ((anna, "forked from"), (bob, "acts for you")):
            wait = await seen_by(who)
            assert why in wait["obstacle"]
            assert "fields" not in wait["asked"]
            answer = {"digest": wait["digest"], "value": {"refund": True}}
            problem(await who.post(f"/api/runs/{forked}/answer", json=answer), 403, "answer-not-allowed")
        wait = await seen_by(carl)
        assert wait["obstacle"] is None
        assert [field["name"] for field in wait["asked"]["fields"]] == ["refund"]
        answer = {"digest": wait["digest"], "value": {"refund": True}}
        assert (await carl.post(f"/api/runs/{forked}/answer", json=answer)).status_code == 200


async def test_who_may_not_start_a_workflow_may_not_fork_its_runs_either(tmp_path):
    project = asking(tmp_path)
    project.workflow(QUESTION, name="refund", meta={"required_scope": "refunds"})
    async with serving(project, durable=True) as server:
        anna = await server.client("runs:start", "runs:read", "runs:control", "refunds", id="anna")
        bob = await server.client("runs:start", "runs:read", "runs:control", id="bob")
        run_id = (await anna.post("/api/runs", json={"workflow": "refund"})).json()["run_id"]
        (wait,) = (await bob.get("/api/waits")).json()["waits"]
        good = {"digest": wait["digest"], "value": {"refund": True}}
        assert (await bob.post(f"/api/runs/{run_id}/answer", json=good)).status_code == 200
        assert (await settled(anna, run_id))["status"] == "completed"
        problem(await bob.post(f"/api/runs/{run_id}/fork", json={"at": "ask"}), 403, "right-missing")
        carl = await server.client("runs:start", "runs:read", "runs:control", "refunds", id="carl")
        forked = await carl.post(f"/api/runs/{run_id}/fork", json={"at": "ask"})
        assert forked.status_code == 202
        shown = await settled(carl, forked.json()["run_id"])
        assert (shown["status"], shown["principal"]) == ("suspended", "carl")
