"""Workflows that a caller may not start are not there for them, nor are figures of other tenants."""

import re

import httpx
import pytest

from tests.pages.pages_support import signed_cookie
from tests.server.server_support import QUICK, Project, problem, serving, shop

TOLD = "there is no such workflow that this caller may start; GET /api/workflows lists those there are"


def with_hidden(root) -> Project:
    project = shop(root)
    project.workflow(QUICK, name="merger", meta={"required_scope": "deal"}, trigger={"path": "/api/merger"})
    project.workflow(QUICK, name="clerks", meta={"required_group": "clerks"}, trigger={"path": "/hooks/clerks"})
    return project


@pytest.mark.parametrize("name", ["merger", "clerks", "guarded"])
async def test_a_workflow_that_somebody_may_not_start_is_answered_like_one_that_never_was(tmp_path, name):
    async with serving(with_hidden(tmp_path)) as server:
        eve = await server.client(id="eve", tenant="evil")
        answers = [await eve.post("/api/runs", json={"workflow": each}) for each in (name, "nope")]
        assert problem(answers[0], 404, "unknown-workflow") == problem(answers[1], 404, "unknown-workflow")
        assert answers[0].json()["detail"] == TOLD


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api/merger", "/hooks/clerks"])
async def test_its_trigger_is_answered_like_a_path_that_never_was(tmp_path, path, method):
    async with serving(with_hidden(tmp_path)) as server:
        eve = await server.client(id="eve", tenant="evil")
        hidden, nothing = [await eve.request(method, each) for each in (path, "/api/nope")]
        assert (hidden.status_code, hidden.content) == (404, nothing.content)
        assert "allow" not in hidden.headers
        ours = await server.client("runs:start", "deal", groups=("clerks",))
        assert (await ours.post(path, json={"name": "Ada"})).json()["status"] == "completed"
        assert (await ours.options(path)).headers["allow"] == "OPTIONS, POST"


async def test_the_list_of_runs_offers_those_workflows_to_nobody_else(tmp_path):
    async with serving(with_hidden(tmp_path)) as server:
        ours = await server.client("runs:start", "deal", id="anna", tenant="acme")
        await ours.post("/api/merger", json={"name": "Ada"})

        async def offered(*scopes: str, tenant: str) -> set[str]:
            cookie = await signed_cookie(server, *scopes, id="p", tenant=tenant)
            async with httpx.AsyncClient(base_url=server.url, cookies={cookie["name"]: cookie["value"]}) as browser:
                page = (await browser.get("/runs")).text
            return set(re.findall(r"<option(?: selected)?>([a-z]+)</option>", page))

        everybodys = {"quick", "open", "gated"}
        assert await offered("runs:read", tenant="evil") == everybodys
        assert await offered("runs:read", "deal", tenant="evil") == everybodys | {"merger"}
        # Whoever sees a run may look for others of its kind.
        assert await offered("runs:read", tenant="acme") == everybodys | {"merger"}


async def test_figures_of_all_tenants_are_for_those_alone_who_have_a_scope_for_them(tmp_path):
    async with serving(with_hidden(tmp_path)) as server:
        ours = await server.client("runs:start", "deal", id="anna", tenant="acme")
        await ours.post("/api/merger", json={"name": "Ada"})
        eve = await server.client("runs:start", "runs:read", "runs:control", "agent:observe", tenant="evil")
        refused = await eve.get("/metrics")
        problem(refused, 403, "scope-missing")
        assert "merger" not in refused.text
        for scope in ("metrics:read", "*"):
            assert 'workflow="merger"' in (await (await server.client(scope)).get("/metrics")).text
