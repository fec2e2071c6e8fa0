"""What a path takes: the header Allow, HEAD as GET without its body, and OPTIONS; neither starts anything."""

import asyncio

import pytest

from tests.server.server_support import problem, serving, shop
from tests.support.gates import opened, reached

OWN = [
    ("/api/runs", "GET, HEAD, OPTIONS, POST"),
    ("/api/runs/x", "GET, HEAD, OPTIONS"),
    ("/api/runs/x/answer", "OPTIONS, POST"),
    ("/api/agents/x/pause", "OPTIONS, POST"),
    ("/metrics", "GET, HEAD, OPTIONS"),
    ("/healthz", "GET, HEAD, OPTIONS"),
    ("/openapi.json", "GET, HEAD, OPTIONS"),
    ("/runs", "GET, HEAD, OPTIONS"),
    ("/runs/x/pause", "OPTIONS, POST"),
    ("/waiting/x", "GET, HEAD, OPTIONS, POST"),
    ("/login", "GET, HEAD, OPTIONS, POST"),
]


async def test_a_method_that_a_path_does_not_take_is_told_with_those_it_takes(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        for path, allowed in OWN:
            asked = await client.options(path)
            assert (asked.status_code, asked.headers["allow"], asked.content) == (204, allowed, b""), path
            for method in ("DELETE", "TRACE", "QUERY"):
                wrong = await client.request(method, path)
                assert allowed in problem(wrong, 405, "wrong-method")["detail"]
                assert wrong.headers["allow"] == allowed
        for method in ("OPTIONS", "HEAD", "GET", "DELETE"):
            assert (await client.request(method, "/api/runs/x/y/z")).status_code == 404
        problem(await client.request("PROPFIND", "/api/runs"), 501, "unknown-method")
        problem(await server.anyone().options("/api/runs"), 401, "unauthorized")


async def test_a_trigger_is_told_with_its_own_methods_and_starts_nothing_when_asked(tmp_path):
    project = shop(tmp_path)
    step = "- {id: put, kind: Functional, runner: set, values: {done: true}}"
    project.workflow(step, name="other", trigger={"path": "/hooks/open", "method": "DELETE"})
    async with serving(project) as server:
        client, nobody = await server.client(), server.anyone()
        for who, path, allowed in (
            (client, "/api/greet", "OPTIONS, POST"),
            (client, "/hooks/open", "DELETE, GET, OPTIONS"),
            (nobody, "/hooks/open", "GET, OPTIONS"),
        ):
            asked = await who.options(path)
            assert (asked.status_code, asked.headers["allow"]) == (204, allowed)
            head = await who.head(path, params={"name": "Ada"})
            assert (head.status_code, head.headers["allow"]) == (405, allowed)
        for method in ("OPTIONS", "HEAD"):
            assert (await nobody.request(method, "/api/greet")).status_code == 401
            assert (await client.request(method, "/api/nothing")).status_code == 404
        assert (await client.get("/api/runs")).json() == {"runs": []}


@pytest.mark.parametrize(
    "path", ["/api/runs", "/api/runs/nope", "/healthz", "/metrics", "/login", "/runs", "/api/agents"]
)
async def test_head_is_answered_as_get_without_its_body(tmp_path, path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        head, get = await client.head(path), await client.get(path)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers.get("content-type") == get.headers.get("content-type")
        if path != "/metrics":
            assert head.headers["content-length"] == str(len(get.content))
        metrics = (await client.get("/metrics")).text
        named = path.replace("nope", "{run_id}")
        assert f'tuvl_http_requests_total{{method="HEAD",route="{named}",status="{head.status_code}"}} 1.0' in metrics


async def test_the_head_of_an_event_stream_ends_at_once_and_leaves_its_run_alone(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "head"}, "mode": "detached", "durable": False}
        run_id = (await client.post("/api/runs", json=body)).json()["run_id"]
        await reached("head")
        async with asyncio.timeout(20):
            head = await client.head(f"/api/runs/{run_id}/events")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"].startswith("text/event-stream")
        await client.get("/healthz")  # on the same connection, so that it is answered after the stream has ended
        assert server.services.streams.open == 0
        opened("head")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            await stream.aread()
        assert (await client.get(f"/api/runs/{run_id}")).json()["status"] == "completed"


@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "text/plain", "application/jsonx"])
async def test_a_body_that_does_not_say_that_it_is_json_is_told_so(tmp_path, kind):
    body = b'{"workflow": "quick", "input": {"name": "Ada"}}'
    headers = {} if kind is None else {"Content-Type": kind}
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        for path in ("/api/runs", "/api/greet", "/api/runs/x/answer", "/api/agents/x/steer", "/api/runs/x/abort"):
            said = problem(await client.post(path, content=body, headers=headers), 415, "wrong-media-type")
            assert "Content-Type: application/json" in said["detail"]
        for good in ("application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"):
            assert (await client.post("/api/runs", content=body, headers={"Content-Type": good})).status_code == 200
        # Without a body there is nothing to say.
        problem(await client.post("/api/agents/x/pause"), 404, "unknown-run")
