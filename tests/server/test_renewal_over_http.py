"""A run that waits goes on with newer files over HTTP, as far as its record allows."""

import asyncio

from tests.server.server_support import GATED, QUESTION, problem, serving
from tests.server.test_durable_over_http import GREETED, asking, settled
from tests.support.gates import forget, opened, reached

NEWER = QUESTION.replace("{heard:", "{newer:")
PREPARED = "- {id: first, kind: Functional, runner: wait, seconds: 0.01}\n" + QUESTION.lstrip("\n")


async def asked(client) -> dict:
    async with asyncio.timeout(30):
        while True:
            waits = (await client.get("/api/waits")).json()["waits"]
            if waits and (await client.get(f"/api/runs/{waits[0]['run_id']}")).json()["status"] == "suspended":
                return waits[0]
            await asyncio.sleep(0.02)


async def test_a_run_that_waits_goes_on_with_the_files_that_a_later_server_has(tmp_path):
    project = asking(tmp_path)
    async with serving(project, durable=True) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
    project.workflow(NEWER, name="asking")
    async with serving(project, durable=True) as server:
        client = await server.client()
        stranger = await server.client("runs:read", "runs:control", tenant="other")
        problem(await stranger.post(f"/api/runs/{run_id}/renew"), 404, "unknown-run")
        renewed = await client.post(f"/api/runs/{run_id}/renew")
        assert (renewed.status_code, renewed.json()["run_id"]) == (202, run_id), renewed.text
        wait = await asked(client)
        answer = {"digest": wait["digest"], "value": {"refund": True}}
        assert (await client.post(f"/api/runs/{run_id}/answer", json=answer)).status_code == 200
        shown = await settled(client, run_id)
        assert (shown["status"], shown["result"]["context"]) == (
            "completed",
            {"said": {"refund": True}, "newer": True},
        )
        problem(await client.post(f"/api/runs/{run_id}/renew"), 409, "has-ended")


async def test_why_a_run_does_not_go_on_with_newer_files_is_told_and_nothing_changes(tmp_path):
    project = asking(tmp_path)
    project.workflow(PREPARED, name="asking")
    async with serving(project, durable=True) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
    project.workflow(QUESTION, name="asking")
    async with serving(project, durable=True) as server:
        client = await server.client()
        said = problem(await client.post(f"/api/runs/{run_id}/renew"), 409, "parts-from-record")
        assert "part from its record at 'first#1/until'" in said["detail"]
        assert (await client.get(f"/api/runs/{run_id}")).json()["status"] == "suspended"
        plain = (await client.post("/api/runs", json=GREETED)).json()["run_id"]
        problem(await client.post(f"/api/runs/{plain}/renew"), 409, "not-durable")


async def test_a_run_that_is_performed_goes_on_with_the_files_it_has(tmp_path):
    project = asking(tmp_path)
    async with serving(project, durable=True, grace_s=0.1) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "r"}, "mode": "detached"}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("r")
        told = await client.post(f"/api/runs/{run_id}/renew")
        assert (told.status_code, told.json()["status"]) == (202, "running"), "it has these files"
    forget()
    project.workflow(GATED.replace("passed: true", "newer: true"), name="gated")
    async with serving(project, durable=True) as server:
        client = await server.client()
        await reached("r")
        problem(await client.post(f"/api/runs/{run_id}/renew"), 409, "being-performed")
        opened("r")
        assert (await settled(client, run_id))["result"]["context"]["passed"] is True


async def test_whoever_answers_the_older_question_once_newer_files_were_given_is_told_that_it_is_another(tmp_path):
    project = asking(tmp_path)
    async with serving(project, durable=True) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        before = await asked(client)
    project.workflow(QUESTION.replace("title: ", "title: Really "), name="asking")
    async with serving(project, durable=True) as server:
        client = await server.client()
        assert (await client.post(f"/api/runs/{run_id}/renew")).status_code == 202
        answer = {"digest": before["digest"], "value": {"refund": True}}
        problem(await client.post(f"/api/runs/{run_id}/answer", json=answer), 409, "answer-other-question")
        now = await asked(client)
        assert now["digest"] != before["digest"]
        answer = {"digest": now["digest"], "value": {"refund": True}}
        assert (await client.post(f"/api/runs/{run_id}/answer", json=answer)).status_code == 200
        assert (await settled(client, run_id))["status"] == "completed"
