"""Runs over HTTP: started in each way, read, traced, started once for one key, and bounded in number."""

import asyncio

from tests.server.server_support import events_of, problem, serving, shop
from tests.support.gates import opened, reached

GREETED = {"workflow": "quick", "input": {"name": "Ada"}}


async def test_a_start_that_waits_returns_the_result_document(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        answer = await client.post("/api/runs", json=GREETED)
        assert answer.status_code == 200
        document = answer.json()
        assert document["status"] == "completed"
        assert document["context"] == {"name": "Ada", "greeting": "Hello Ada"}
        assert answer.headers["location"] == f"/api/runs/{document['run_id']}"


async def test_a_detached_plain_run_answers_at_once_and_is_on_record(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body = {"workflow": "gated", "input": {"gate": "detached"}, "mode": "detached", "durable": False}
        answer = await client.post("/api/runs", json=body)
        assert answer.status_code == 202
        run_id = answer.json()["run_id"]
        await reached("detached")
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        assert shown["status"] == "running"
        opened("detached")
        async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
            events = await events_of(stream)
        assert events[-1]["type"] == "run_finished"
        shown = (await client.get(answer.headers["location"])).json()
        assert shown["status"] == "completed"
        assert shown["result"]["context"]["passed"] is True
        listed = (await client.get("/api/runs", params={"workflow": "gated"})).json()["runs"]
        assert [run["run_id"] for run in listed] == [run_id]


async def test_a_streamed_start_gives_every_event_with_its_id_and_one_terminal_event(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        async with client.stream("POST", "/api/runs", json={**GREETED, "mode": "stream"}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            events = await events_of(stream)
        types = [event["type"] for event in events]
        assert types == ["run_started", "step_started", "step_finished", "run_finished"]
        assert [event["seq"] for event in events] == [1, 2, 3, 4]
        assert len({event["id"] for event in events}) == 4


async def test_headers_say_how_a_client_waits_where_the_body_does_not(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        answer = await client.post("/api/runs", json={**GREETED, "durable": False}, headers={"Prefer": "respond-async"})
        assert answer.status_code == 202
        answer = await client.post("/api/runs", json=GREETED, headers={"Accept": "text/event-stream"})
        assert answer.headers["content-type"].startswith("text/event-stream")


async def test_what_a_run_cannot_begin_with_is_refused_before_anything_is_kept(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        unknown = await client.post("/api/runs", json={"workflow": "nope"})
        problem(unknown, 404, "unknown-workflow")
        misfit = await client.post("/api/runs", json={"workflow": "quick", "input": {"name": 987654321}})
        assert "name" in problem(misfit, 422, "input-refused")["detail"]
        assert "987654321" not in misfit.text
        reserved = await client.post("/api/runs", json={"workflow": "gated", "input": {"_x": 1}})
        problem(reserved, 422, "input-refused")
        strange = await client.post("/api/runs", json={"workflow": "quick", "inputs": {}})
        said = problem(strange, 422, "request-refused")
        assert said["errors"][0]["at"] == "body.inputs"
        assert (await client.get("/api/runs")).json() == {"runs": []}


async def test_one_key_with_one_body_is_one_run_however_often_it_comes_at_once(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        headers = {"Idempotency-Key": "order-1"}
        answers = await asyncio.gather(*(client.post("/api/runs", json=GREETED, headers=headers) for _ in range(8)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["run_id"] for answer in answers}) == 1
        assert len((await client.get("/api/runs")).json()["runs"]) == 1
        other = await client.post("/api/runs", json={**GREETED, "input": {"name": "Bob"}}, headers=headers)
        problem(other, 422, "key-reused")
        somebody = await server.client(id="else")
        theirs = await somebody.post("/api/runs", json=GREETED, headers=headers)
        assert theirs.json()["run_id"] != answers[0].json()["run_id"]


async def test_a_key_is_known_to_the_next_process_and_free_again_after_a_refusal(tmp_path):
    headers = {"Idempotency-Key": "k"}
    async with serving(shop(tmp_path), concurrency=1) as server:
        client = await server.client()
        token = client.headers["authorization"]
        hold = await client.post(
            "/api/runs", json={"workflow": "gated", "input": {"gate": "full"}, "mode": "detached", "durable": False}
        )
        assert hold.status_code == 202
        full = await client.post("/api/runs", json=GREETED, headers=headers)
        assert full.headers["retry-after"] == "1"
        problem(full, 503, "no-room")
        await reached("full")
        opened("full")
        async with client.stream("GET", f"{hold.headers['location']}/events") as stream:
            await events_of(stream)
        await client.get(hold.headers["location"])
        first = (await client.post("/api/runs", json=GREETED, headers=headers)).json()
        assert first["status"] == "completed"
    async with serving(shop(tmp_path)) as server:
        client = server.anyone(Authorization=token)
        again = await client.post("/api/runs", json=GREETED, headers=headers)
        assert again.json() == first


async def test_a_client_that_leaves_ends_its_run_and_only_its_own(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        kept = await client.post(
            "/api/runs", json={"workflow": "gated", "input": {"gate": "kept"}, "mode": "detached", "durable": False}
        )
        for mode in ("sync", "stream"):
            body = {"workflow": "gated", "input": {"gate": f"left-{mode}"}, "mode": mode}
            impatient = server.anyone(Authorization=client.headers["authorization"])
            task = asyncio.create_task(impatient.post("/api/runs", json=body))
            await reached(f"left-{mode}")
            (left,) = [run for run in server.services.live._running.values() if not run.detached]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with asyncio.timeout(20):
                await left.done.wait()
            assert left.result is not None
            assert left.result["status"] == "aborted"
            assert left.result["error"]["message"] == "its client has left"
        assert server.services.live.running == 1
        opened("kept")
        async with client.stream("GET", f"{kept.headers['location']}/events") as stream:
            assert (await events_of(stream))[-1]["status"] == "completed"


async def test_two_clients_of_one_key_share_a_run_that_ends_when_both_have_left(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body, headers = {"workflow": "gated", "input": {"gate": "shared"}}, {"Idempotency-Key": "shared"}
        others = [server.anyone(Authorization=client.headers["authorization"]) for _ in range(2)]
        tasks = [asyncio.create_task(each.post("/api/runs", json=body, headers=headers)) for each in others]
        await reached("shared")
        (run,) = server.services.live._running.values()
        async with asyncio.timeout(20):
            while run.attached < 2:
                await asyncio.sleep(0)
            tasks[0].cancel()
            while run.attached > 1:
                await asyncio.sleep(0)
        assert not run.done.is_set()
        opened("shared")
        assert (await tasks[1]).json()["status"] == "completed"


async def test_runs_of_another_tenant_are_not_there(tmp_path):
    async with serving(shop(tmp_path)) as server:
        ours, theirs = await server.client(tenant="a"), await server.client(tenant="b")
        run_id = (await ours.post("/api/runs", json=GREETED)).json()["run_id"]
        missing = await theirs.get(f"/api/runs/{run_id}")
        nowhere = await theirs.get("/api/runs/00000000000000000000000000000000")
        assert missing.content == nowhere.content
        for path in ("", "/trace", "/events"):
            problem(await theirs.get(f"/api/runs/{run_id}{path}"), 404, "unknown-run")
        assert (await theirs.get("/api/runs")).json() == {"runs": []}
        assert len((await ours.get("/api/runs")).json()["runs"]) == 1


async def test_a_trace_needs_a_scope_of_its_own(tmp_path):
    async with serving(shop(tmp_path)) as server:
        full, narrow = await server.client(), await server.client("runs:read")
        run_id = (await full.post("/api/runs", json=GREETED)).json()["run_id"]
        assert (await full.get(f"/api/runs/{run_id}/trace")).json() == {"entries": []}
        problem(await narrow.get(f"/api/runs/{run_id}/trace"), 403, "scope-missing")


async def test_triggers_start_runs_by_path_and_method(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client, nobody = await server.client(), server.anyone()
        answer = await client.post("/api/greet", json={"name": "Ada"})
        assert answer.json()["context"]["greeting"] == "Hello Ada"
        problem(await nobody.post("/api/greet", json={"name": "Ada"}), 401, "unauthorized")
        problem(await (await server.client("runs:read")).post("/api/greet", json={}), 403, "scope-missing")
        wrong = await client.get("/api/greet")
        problem(wrong, 405, "wrong-method")
        assert wrong.headers["allow"] == "OPTIONS, POST"
        problem(await client.post("/api/greet", content=b"name=Ada"), 415, "wrong-media-type")
        problem(await client.post("/api/greet", json=[1]), 422, "input-refused")
        public = await nobody.get("/hooks/open", params={"name": "Ada"})
        assert public.json()["output"]["greeting"] == "Hello Ada"
        problem(await nobody.get("/hooks/other"), 401, "unauthorized")
        problem(await client.get("/hooks/other"), 404, "unknown-path")


async def test_a_run_that_could_not_begin_is_told_to_everybody_who_waits(tmp_path):
    project = shop(tmp_path)
    project.environ = {}
    async with serving(project) as server:
        client = await server.client()
        live = server.services.live

        async def broken(*args: object, **more: object) -> None:
            raise RuntimeError("hunter2-secret")

        live._engine.run = broken  # type: ignore[method-assign]
        answer = await client.post("/api/runs", json=GREETED)
        problem(answer, 500, "internal")
        assert "hunter2" not in answer.text
        async with client.stream("POST", "/api/runs", json={**GREETED, "mode": "stream"}) as stream:
            (event,) = await events_of(stream)
        assert (event["type"], event["status"]) == ("run_finished", "failed")


async def test_workflows_are_listed_for_those_who_may_start_them(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        listed = {each["name"]: each for each in (await client.get("/api/workflows")).json()["workflows"]}
        assert sorted(listed) == ["gated", "open", "quick"]
        assert listed["quick"]["trigger"] == {"path": "/api/greet", "method": "POST", "public": False}
        more = await server.client("runs:read", "refunds")
        assert "guarded" in [each["name"] for each in (await more.get("/api/workflows")).json()["workflows"]]


async def test_a_request_to_the_health_of_the_server_needs_no_token(tmp_path):
    async with serving(shop(tmp_path)) as server:
        nobody = server.anyone()
        assert (await nobody.get("/healthz")).json() == {"status": "ok"}
        assert (await nobody.get("/readyz")).json() == {"status": "ready"}
        server.services.starts.draining = True
        problem(await nobody.get("/readyz"), 503, "closing")
        assert (await nobody.get("/healthz")).status_code == 200
        client = await server.client()
        problem(await client.post("/api/runs", json=GREETED), 503, "closing")
