"""The pages as they go out: who sees what, what is refused, and that no page holds a script or a rule of its own."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.pages.pages_support import MEAN, desk, signed_cookie, start
from tests.server.server_support import Serving, events_of, serving
from tests.support.gates import opened, reached
from tuvl.redaction import register_secret
from tuvl.server.pages.runs_pages import PER_PAGE, PER_PART

LONG = """
- id: read
  kind: Agent
  mode: autonomous
  agent:
    model: reader
    steering: Read.
    audit: true
    max_iterations: 3
    token_budget: 100000
    tools:
      - ref: look
        description: Read a page.
        parameters: {type: object, properties: {page: {type: integer}}}
    outcome: {enum: [read]}
  routes: {read: END, max_iterations: END, budget_exceeded: END, error: END}
- {id: look, kind: Functional, runner: set, values: {seen: "{{ page }}"}}
"""
SECRET = "s3cr3t-of-the-pages"


@asynccontextmanager
async def browser(
    server: Serving, *scopes: str, id: str = "ada", tenant: str | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Have the session of somebody who has signed in."""
    cookie = await signed_cookie(server, *scopes, id=id, tenant=tenant)
    async with httpx.AsyncClient(
        base_url=server.url, cookies={cookie["name"]: cookie["value"]}, trust_env=False, timeout=30
    ) as client:
        yield client


def csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    assert found
    return found[1]


def let_end(gate: str) -> None:
    opened(gate)
    opened(f"{gate}-tool")


async def ended(server: Serving, run_id: str) -> None:
    client = await server.client(id="bot")
    async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
        await events_of(stream)


async def test_pages_load_nothing_but_their_own_files_and_hold_no_script_or_rule(tmp_path):
    async with serving(desk(tmp_path)) as server, browser(server) as ada:
        run_id = await start(server, "desk", gate="policy")
        await reached("policy")
        for path in ("/login", "/runs", f"/runs/{run_id}", f"/runs/{run_id}/transcript", "/waiting", "/runs/nope"):
            answer = await (server.anyone() if path == "/login" else ada).get(path)
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self';")
            assert "unsafe" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?! defer src=)", answer.text), path
            for file in re.findall(r'(?:src|<link[^>]* href)="([^"]+)"', answer.text):
                kept = await ada.get(file)
                assert kept.status_code == 200
                assert "immutable" in kept.headers["cache-control"]
        let_end("policy")


async def test_files_of_pages_are_the_ones_there_are(tmp_path):
    async with serving(desk(tmp_path)) as server:
        client = server.anyone()
        for name in ("pages.css", "pages.js", "figure.css", "icon.svg"):
            old = await client.get(f"/assets/{name}", params={"v": "of-another-version"})
            assert old.status_code == 200
            assert old.headers["cache-control"] == "no-store"
        for name in ("nothing.css", "..%2f..%2fview.py", "%2e%2e/view.py", "view.py"):
            assert (await client.get(f"/assets/{name}")).status_code in {401, 404}


async def test_who_is_not_signed_in_is_led_to_sign_in_and_back(tmp_path):
    async with serving(desk(tmp_path)) as server:
        client = server.anyone()
        assert (await client.get("/")).headers["location"] == "/runs"
        answer = await client.get("/runs?status=failed")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/runs%3Fstatus%3Dfailed")
        for path in ("/runs/live", "/waiting/live", "/runs/x/live", "/runs/x/events"):
            assert (await client.get(path)).status_code == 401
        assert (await client.post("/runs/x/abort")).headers["location"] == "/login?next=/runs"
        assert (await client.get("/login", params={"next": '"><script>'})).text.count("<script") == 1
        answer = await client.post("/login", data={"token": await server.token(), "next": "//evil.example/"})
        assert answer.headers["location"] == "/"


async def test_a_long_transcript_comes_in_parts_the_last_one_first(tmp_path):
    project = desk(tmp_path)
    calls = [{"name": "look", "arguments": {"page": n}} for n in range(PER_PART + 3)]
    project.model({"text": "I read it all.", "tool_calls": calls}, {"json": {"outcome": "read"}}, name="reader")
    project.workflow(LONG, name="long")
    async with serving(project) as server, browser(server) as ada:
        client = await server.client(id="bot")
        answer = await client.post("/api/runs", json={"workflow": "long"})
        run_id = answer.json()["run_id"]
        last = (await ada.get(f"/runs/{run_id}/transcript")).text
        assert last.count('<li class="card') == 5
        assert "part 2 of 2" in last
        first = (await ada.get(f"/runs/{run_id}/transcript", params={"part": 1})).text
        assert first.count('<li class="card') == PER_PART
        assert "I read it all." in first
        beyond = (await ada.get(f"/runs/{run_id}/transcript", params={"part": 99})).text
        assert "part 2 of 2" in beyond


async def test_the_description_of_the_api_is_not_about_pages(tmp_path):
    async with serving(desk(tmp_path)) as server:
        paths = (await server.anyone().get("/openapi.json")).json()["paths"]
        assert all(path.startswith(("/api/", "/healthz", "/readyz", "/metrics")) for path in paths)


async def test_a_run_of_another_tenant_is_not_there(tmp_path):
    async with serving(desk(tmp_path)) as server:
        run_id = await start(server, "desk", gate="tenant")
        await reached("tenant")
        async with browser(server, tenant="other") as eve:
            assert run_id not in (await eve.get("/runs")).text
            for path in ("", "/live", "/events", "/transcript"):
                answer = await eve.get(f"/runs/{run_id}{path}")
                assert answer.status_code == 404
                assert "There is no such run." in answer.text
            token = csrf(await eve.get("/runs"))
            for action in ("pause", "resume", "steer", "abort"):
                answer = await eve.post(f"/runs/{run_id}/{action}", data={"csrf": token, "message": "x"})
                assert answer.status_code == 404
            assert (await eve.post(f"/waiting/{run_id}", data={"csrf": token})).status_code == 404
        let_end("tenant")
        await ended(server, run_id)


async def test_what_a_token_lacks_is_neither_shown_nor_taken(tmp_path):
    async with serving(desk(tmp_path)) as server, browser(server, "runs:read") as reader:
        run_id = await start(server, "desk", gate="scopes")
        await reached("scopes")
        page = await reader.get(f"/runs/{run_id}")
        assert "Pause" not in page.text
        assert "Abort" not in page.text
        assert "Transcript" not in page.text
        answer = await reader.post(f"/runs/{run_id}/pause", data={"csrf": csrf(page)})
        assert answer.status_code == 403
        assert "agent:control" in answer.text
        answer = await reader.get(f"/runs/{run_id}/transcript")
        assert answer.status_code == 403
        assert "agent:observe" in answer.text
        async with browser(server, "runs:start") as starter:
            assert (await starter.get("/runs")).status_code == 403
        let_end("scopes")
        await ended(server, run_id)


async def test_a_form_of_somebody_else_is_refused(tmp_path):
    async with serving(desk(tmp_path)) as server, browser(server) as ada, browser(server, id="bob") as bob:
        run_id = await start(server, "desk", gate="forged")
        await reached("forged")
        own = csrf(await ada.get("/runs"))
        other = csrf(await bob.get("/runs"))
        for fields, headers in (
            ({}, {}),
            ({"csrf": other}, {}),
            ({"csrf": own}, {"Origin": "https://evil.example"}),
            ({"csrf": own}, {"Sec-Fetch-Site": "cross-site"}),
        ):
            answer = await ada.post(f"/runs/{run_id}/abort", data=fields, headers=headers)
            assert answer.status_code == 403
        answer = await ada.post(f"/runs/{run_id}/pause", data={"csrf": own})
        assert answer.headers["location"] == f"/runs/{run_id}?told=pause-applied"
        too_long = await ada.post(f"/runs/{run_id}/steer", data={"csrf": own, "message": "x" * 9000})
        assert too_long.status_code == 422
        empty = await ada.post(f"/runs/{run_id}/steer", data={"csrf": own, "message": " "})
        assert empty.status_code == 422
        broken = await ada.post(f"/runs/{run_id}/steer", content=b"\xff=1", headers={"Sec-Fetch-Site": "same-origin"})
        assert broken.status_code == 400
        many = await ada.post(f"/runs/{run_id}/steer", content="&".join(f"a{n}=1" for n in range(300)))
        assert many.status_code == 400
        await ada.post(f"/runs/{run_id}/abort", data={"csrf": own})
        await ended(server, run_id)
        client = await server.client(id="bot")
        async with asyncio.timeout(20):
            while (await client.get(f"/api/agents/{run_id}")).status_code == 200:
                await asyncio.sleep(0.02)
        over = await ada.post(f"/runs/{run_id}/pause", data={"csrf": own})
        assert over.status_code == 409
        assert "nobody to tell" in over.text


async def test_a_run_that_waits_can_be_aborted_from_its_page(tmp_path):
    async with serving(desk(tmp_path), durable=True) as server, browser(server) as ada:
        run_id = await start(server, "contracts", durable=True, customer="x")
        client = await server.client(id="bot")
        async with asyncio.timeout(20):
            while (await client.get(f"/api/runs/{run_id}")).json()["status"] != "suspended":
                await asyncio.sleep(0.02)
        page = await ada.get(f"/runs/{run_id}")
        assert "Abort the run" in page.text
        assert 'name="message" rows' not in page.text, "nobody is there to be steered"
        answer = await ada.post(f"/runs/{run_id}/abort", data={"csrf": csrf(page), "message": "no longer wanted"})
        assert answer.headers["location"] == f"/runs/{run_id}?told=abort-pending"
        async with asyncio.timeout(20):
            while "aborted by ada: no longer wanted" not in (await ada.get(f"/runs/{run_id}")).text:
                await asyncio.sleep(0.02)
        late = await ada.post(f"/waiting/{run_id}", data={"csrf": csrf(page), "field.verdict": "0"})
        assert late.status_code == 409
        assert "It waits no more" in late.text


async def test_an_answer_to_another_question_is_not_used(tmp_path):
    async with serving(desk(tmp_path), durable=True) as server, browser(server) as ada:
        run_id = await start(server, "contracts", durable=True, customer="x")
        async with asyncio.timeout(20):
            while f"/waiting/{run_id}" not in (await ada.get("/waiting/live")).text:
                await asyncio.sleep(0.02)
        page = await ada.get(f"/waiting/{run_id}")
        fields = {"csrf": csrf(page), "digest": "of-another", "field.verdict": "0"}
        answer = await ada.post(f"/waiting/{run_id}", data=fields)
        assert answer.status_code == 409
        assert "It asks for something else by now" in answer.text
        assert "What you said was not used." in answer.text
        mine = csrf(page)
        digest = re.search(r'name="digest" value="([0-9a-f]+)"', page.text)[1]
        async with browser(server, "runs:read") as reader:
            shown = await reader.get(f"/waiting/{run_id}")
            assert "Your token may not answer." in shown.text
            assert "<fieldset>" not in shown.text
            fields = {"csrf": csrf(shown), "digest": "d", "field.verdict": "0"}
            assert (await reader.post(f"/waiting/{run_id}", data=fields)).status_code == 403
        async with browser(server, id="bob") as bob:
            fields = {"csrf": csrf(await bob.get("/runs")), "digest": digest, "field.verdict": "1"}
            answer = await bob.post(f"/waiting/{run_id}", data=fields)
            assert "It was kept as the answer of bob" in answer.text
        late = await ada.post(f"/waiting/{run_id}", data={"csrf": mine, "digest": digest, "field.verdict": "0"})
        assert late.status_code == 409
        assert "already answered by bob" in late.text


async def test_the_list_is_filtered_and_goes_on_where_a_page_ends(tmp_path):
    async with serving(desk(tmp_path)) as server, browser(server) as ada:
        assert "No run yet." in (await ada.get("/runs")).text
        client = await server.client(id="bot")
        for _ in range(PER_PAGE + 2):
            answer = await client.post("/api/runs", json={"workflow": "quick"})
            assert answer.status_code == 200
        first = await ada.get("/runs")
        ids = re.findall(r'href="/runs/([0-9a-f]{32})"', first.text)
        assert len(ids) == PER_PAGE
        older = re.search(r'rel="next" href="([^"]+)"', first.text)
        assert older
        second = await ada.get(older[1].replace("&amp;", "&"))
        rest = re.findall(r'href="/runs/([0-9a-f]{32})"', second.text)
        assert len(rest) == 2
        assert not set(ids) & set(rest)
        assert 'rel="prev" href="/runs"' in second.text
        for query, count in (
            ("status=completed&workflow=quick", PER_PAGE),
            ("status=failed", 0),
            ("mine=1", 0),
            ("workflow=contracts", 0),
            ("status=%3Cscript%3E&before=nonsense", PER_PAGE),
        ):
            page = await ada.get(f"/runs?{query}")
            assert len(re.findall(r'href="/runs/[0-9a-f]{32}"', page.text)) == count, query


async def test_secrets_stay_masked_and_text_stays_text(tmp_path):
    register_secret(SECRET)
    project = desk(tmp_path)
    project.workflow('- {id: put, kind: Functional, runner: set, values: {said: "{{ words }}"}}', name="echo")
    async with serving(project) as server, browser(server, id="<b>ada</b>") as ada:
        client = await server.client(id="<i>bot</i>")
        words = f"{MEAN} {SECRET} \u202eabc"
        answer = await client.post("/api/runs", json={"workflow": "echo", "input": {"words": words}})
        page = (await ada.get(f"/runs/{answer.json()['run_id']}")).text
        assert SECRET not in page
        assert "***" in page
        assert MEAN not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert "\u202e" not in page, "what turns text around is shown, not obeyed"
        assert "<i>bot" not in page
        assert "<b>ada" not in page


async def test_a_run_that_was_over_before_the_server_began_is_shown_from_its_record(tmp_path):
    project = desk(tmp_path)
    async with serving(project) as server:
        client = await server.client(id="bot")
        run_id = (await client.post("/api/runs", json={"workflow": "quick", "input": {}})).json()["run_id"]
    async with serving(project) as server, browser(server) as ada:
        page = (await ada.get(f"/runs/{run_id}")).text
        assert "The run completed on default." in page
        assert 'id="card-1" data-step="1" data-state="done"' in page
        assert "The events of this run are not kept here" in page
        assert "data-live" not in page


async def test_a_workflow_that_is_gone_leaves_its_runs_to_be_seen(tmp_path):
    project = desk(tmp_path)
    async with serving(project) as server:
        client = await server.client(id="bot")
        run_id = (await client.post("/api/runs", json={"workflow": "quick", "input": {}})).json()["run_id"]
    (tmp_path / "workflows" / "quick.yaml").unlink()
    async with serving(project) as server, browser(server) as ada:
        page = await ada.get(f"/runs/{run_id}")
        assert page.status_code == 200
        assert "cannot be drawn" in page.text
        assert ">put</span>" in page.text


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/hook", "/waiting/x", "/assets/a", "/login"])
async def test_no_trigger_takes_the_path_of_a_page(tmp_path, path):
    project = desk(tmp_path)
    project.workflow("- {id: a, kind: Functional, runner: set, values: {b: 1}}", name="greedy", trigger={"path": path})
    with pytest.raises(Exception, match="is one of the server itself"):
        async with serving(project):
            pass
