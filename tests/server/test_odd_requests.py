"""Requests as programs and people make them by mistake: told what is wrong, and nothing else suffers."""

import pytest

from tests.server.server_support import QUICK, events_of, problem, serving, shop
from tests.support.gates import reached
from tuvl.data.run_rows import RunFilter, TraceFilter
from tuvl.principal import Principal
from tuvl.server.problems import Problem

GATED = {"workflow": "gated", "mode": "detached", "durable": False}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/runs", '{"workflow": "gated", "workflow": "quick", "input": {"name": "x"}}'),
        ("/api/runs", '{"workflow": "quick", "input": {"name": "x", "name": "y"}}'),
        ("/api/greet", '{"name": "x", "name": "y"}'),
        ("/api/runs/x/answer", '{"digest": "d", "value": {"sum": 1, "sum": 1000}}'),
        ("/api/agents/x/steer", '{"message": "a", "message": "b"}'),
    ],
)
async def test_a_body_that_says_a_key_twice_says_two_things_and_is_refused(tmp_path, path, body):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        answer = await client.post(path, content=body, headers={"content-type": "application/json"})
        assert "given twice" in problem(answer, 400, "unreadable")["detail"]
        assert (await client.get("/api/runs")).json() == {"runs": []}


@pytest.mark.parametrize(
    ("form", "there"),
    [
        ("&".join(f"f{number}=1" for number in range(20)), "/login?failed=1"),
        ("token={token}&next=//[", "/"),
        ("token={token}&next=http://[", "/"),
    ],
)
async def test_a_form_of_signing_in_that_cannot_be_read_is_no_fault(tmp_path, form, there):
    async with serving(shop(tmp_path)) as server:
        body = form.replace("{token}", await server.token())
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await server.anyone().post("/login", content=body, headers=kind)
        assert (answer.status_code, answer.headers["location"]) == (303, there)
        odd = await server.anyone().post("/login", content=body, headers={**kind, "origin": "http://["})
        problem(odd, 403, "forged")


async def test_what_no_store_can_hold_is_in_none(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "quick", "input": {"name": "x"}})).json()["run_id"]
        store = server.services.registry.access.store
        real = store._rows

        async def rows(query):
            assert "\0" not in str(query.compile().params), "PostgreSQL refuses a NUL"
            return await real(query)

        store._rows = store.control._rows = rows
        for path in ("/api/runs/%00", "/api/runs/%00/events", "/api/agents/%00"):
            problem(await client.get(path), 404, "unknown-run")
        problem(await client.post("/api/agents/%00/steer", json={"message": "x"}), 404, "unknown-run")
        for query in ("workflow=%00", "principal=a%00"):
            assert (await client.get(f"/api/runs?{query}")).json() == {"runs": []}
        assert (await client.get(f"/api/runs/{run_id}/trace?step=%00")).json() == {"entries": []}
        reading, reader = server.services.reading, Principal()
        assert list(await reading.runs(RunFilter(workflow="\0", limit=5), reader)) == []
        assert list(await reading.trace(run_id, TraceFilter(tool="\0"), reader)) == []
        with pytest.raises(Problem, match="no such run"):
            await reading.run("\ud800", reader)


async def test_a_filter_that_nobody_knows_is_refused_and_does_not_show_everything(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "quick", "input": {"name": "x"}})).json()["run_id"]
        for path in ("/api/runs?statsu=failed", f"/api/runs/{run_id}/trace?tol=pay"):
            problem(await client.get(path), 422, "request-refused")


@pytest.mark.parametrize("by", ["agents", "runs"])
async def test_a_stop_with_a_pasted_nul_stops_a_run_that_is_not_durable(tmp_path, by):
    async with serving(shop(tmp_path), durable=True) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={**GATED, "input": {"gate": f"stop-{by}"}})).json()["run_id"]
        await reached(f"stop-{by}")
        problem(await client.post(f"/api/runs/{run_id}/fork", json={"at": "hold"}), 409, "not-durable")
        stopped = await client.post(f"/api/{by}/{run_id}/abort", json={"message": "stop\0now"})
        assert stopped.status_code in (200, 202), stopped.text
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            assert (await events_of(stream))[-1]["status"] == "aborted"
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        assert "stop\ufffdnow" in shown["error"]["message"]
        problem(await client.post(f"/api/runs/{run_id}/abort"), 409, "has-ended")


async def test_a_stranger_learns_nothing_of_a_run_that_is_not_durable(tmp_path):
    project = shop(tmp_path)
    project.workflow(QUICK, name="more")
    async with serving(project, durable=True) as server:
        client, stranger = await server.client(), await server.client(tenant="b")
        run_id = (await client.post("/api/runs", json={"workflow": "more", "input": {"name": "x"}})).json()["run_id"]
        problem(await stranger.post(f"/api/runs/{run_id}/abort"), 404, "unknown-run")
        problem(await stranger.post(f"/api/runs/{run_id}/fork", json={"at": "greet"}), 404, "unknown-run")
