"""A server with `TUVL_RECORD_KEY`: all that it serves is as without; one that lacks the key says so of those runs."""

from dataclasses import replace

import pytest

from tests.server.server_support import QUESTION, events_of, problem, serving, shop
from tests.server.test_browser_sessions import SAME
from tests.server.test_durable_over_http import settled
from tuvl.hosting.host import Host
from tuvl.hosting.requests import StartRequest
from tuvl.project.index import ProjectIndex

KEY = "Vf0d1m+0cE9xPp1k7u8o9R5yq3s2t1v0w/x4y5z6A7A="
GREETED = {"workflow": "quick", "input": {"name": "Ada Byron"}}
"""With a space, which no random token has that a page may hold."""


def sealed(root):
    project = shop(root)
    project.workflow(QUESTION, name="asking")
    return project, replace(project.settings, record_keys=(KEY,))


async def page_of(server, path: str) -> str:
    """Return a page, as somebody sees it who has signed in."""
    browser = server.anyone()
    token = await server.token(id="anna")
    assert (await browser.post("/login", data={"token": token}, headers=SAME)).status_code == 303
    page = await browser.get(path)
    assert page.status_code == 200, (path, page.text)
    return page.text


async def test_with_the_key_runs_are_started_read_followed_answered_and_forked(tmp_path):
    project, settings = sealed(tmp_path)
    async with serving(project, settings=settings, durable=True) as server:
        client = await server.client()
        detached = await client.post("/api/runs", json={**GREETED, "mode": "detached"})
        shown = await settled(client, detached.json()["run_id"])
        assert shown["result"]["context"]["greeting"] == "Hello Ada Byron"
        asked = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        (wait,) = (await client.get("/api/waits")).json()["waits"]
        assert wait["message"].endswith("Refund?")
        assert "Refund?" in await page_of(server, f"/waiting/{asked}")
        answer = {"digest": wait["digest"], "value": {"refund": True}}
        assert (await client.post(f"/api/runs/{asked}/answer", json=answer)).status_code == 200
        assert (await settled(client, asked))["result"]["context"]["heard"] is True
        forked = await client.post(f"/api/runs/{asked}/fork", json={"at": "ask"})
        assert (await settled(client, forked.json()["run_id"]))["status"] == "suspended"
    async with serving(project, settings=settings, durable=True) as server:
        client = await server.client()
        async with client.stream("GET", f"/api/runs/{asked}/events") as stream:
            types = [event["type"] for event in await events_of(stream)]
        assert types[0] == "run_started"
        assert types[-1] == "run_finished"
        assert "run_resumed" in types


async def test_without_the_key_a_server_lists_those_runs_and_says_of_each_that_it_is_encrypted(tmp_path):
    project, settings = sealed(tmp_path)
    async with serving(project, settings=settings, durable=True) as server:
        client = await server.client()
        waits = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        ended = (await client.post("/api/runs", json={**GREETED, "durable": True})).json()["run_id"]
        (wait,) = (await client.get("/api/waits")).json()["waits"]
    async with Host.open(ProjectIndex(tmp_path), settings, concurrency=0) as host:
        queued = await host.start(StartRequest(workflow="quick", input={"name": "Ada Byron"}))
    async with serving(project, durable=True) as server:
        client = await server.client()
        runs = {run["run_id"]: run for run in (await client.get("/api/runs")).json()["runs"]}
        assert {run_id: run["status"] for run_id, run in runs.items()} == {
            waits: "suspended",
            ended: "completed",
            queued: "queued",
        }
        assert {run["error"]["type"] for run_id, run in runs.items() if run_id != queued} == {"encrypted"}
        shown = (await client.get(f"/api/runs/{ended}")).json()
        assert "TUVL_RECORD_KEY" in shown["error"]["message"]
        assert "Ada Byron" not in str(shown)
        (listed,) = (await client.get("/api/waits")).json()["waits"]
        assert "TUVL_RECORD_KEY" in listed["message"]
        answer = {"digest": wait["digest"], "value": {"refund": True}}
        problem(await client.post(f"/api/runs/{waits}/answer", json=answer), 409, "encrypted")
        problem(await client.post(f"/api/runs/{waits}/abort"), 409, "encrypted")
        problem(await client.post(f"/api/runs/{ended}/fork", json={"at": "greet"}), 409, "encrypted")
        async with client.stream("GET", f"/api/runs/{ended}/events") as stream:
            assert [event["type"] for event in await events_of(stream)] == ["run_finished"]
        problem(await client.get(f"/api/runs/{queued}/events"), 409, "encrypted")
        for path in (f"/runs/{waits}", f"/runs/{ended}", f"/runs/{queued}", "/runs", "/waiting", f"/waiting/{waits}"):
            assert "Ada Byron" not in await page_of(server, path)
        for path in (f"/runs/{waits}", f"/waiting/{waits}", "/waiting"):
            page = await page_of(server, path)
            assert "Something encrypted waits for an answer" in page
            assert ("It can be answered where its key is" in page) is path.startswith("/waiting")
            assert f'action="/waiting/{waits}"' not in page, "there is nothing to fill in"
            assert ("TUVL_RECORD_KEY" in page) is (path != "/waiting")
        assert listed["obstacle"] == "It can be answered where its key is."
        own = await client.post("/api/runs", json={**GREETED, "durable": True})
        assert own.json()["context"]["greeting"] == "Hello Ada Byron"
    async with serving(project, settings=settings, durable=True) as server:
        client = await server.client()
        assert (await client.post(f"/api/runs/{waits}/answer", json=answer)).status_code == 200
        assert (await settled(client, waits))["status"] == "completed"


OTHER_KEY = "b3RoZXIra2V5K290aGVyK2tleStvdGhlcitrZXkrb3Q="


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "plain"])
@pytest.mark.parametrize("keys", [(), (OTHER_KEY,)], ids=["no key", "another key"])
async def test_a_start_that_comes_again_where_its_run_cannot_be_opened_starts_no_other_one(tmp_path, durable, keys):
    project, settings = sealed(tmp_path)
    start, once = {**GREETED, "durable": durable}, {"Idempotency-Key": "k"}
    async with serving(project, settings=settings, durable=True) as server:
        client = await server.client()
        token = client.headers["authorization"]
        first = (await client.post("/api/runs", json=start, headers=once)).json()
    async with serving(project, settings=replace(settings, record_keys=keys), durable=True) as server:
        client = server.anyone(Authorization=token)
        for _ in range(2):
            problem(await client.post("/api/runs", json=start, headers=once), 409, "encrypted")
        assert len((await client.get("/api/runs")).json()["runs"]) == 1
    async with serving(project, settings=settings, durable=True) as server:
        again = await server.anyone(Authorization=token).post("/api/runs", json=start, headers=once)
        assert (again.status_code, again.json()) == (200, first)
