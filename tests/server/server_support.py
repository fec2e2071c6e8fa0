"""A server in the event loop of a test, on a port of its own, with a project and tokens made for it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from tests.engine.run_support import Project
from tuvl.clock import Clock
from tuvl.data.access_rows import TokenRow
from tuvl.listening import bind, url_of
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.server.catalogue import catalogue_of
from tuvl.server.options import ServerOptions
from tuvl.server.services import Services, make_services
from tuvl.server.serving import prepare, serve
from tuvl.server.tokens import SCOPES, new_token
from tuvl.settings import Settings

QUICK = """
- {id: greet, kind: Functional, runner: set, values: {greeting: "Hello {{ name }}"}}
"""
GATED = """
- {id: hold, kind: Functional, runner: gate, effects: read}
- {id: done, kind: Functional, runner: set, values: {passed: true}}
"""
QUESTION = """
- id: ask
  kind: HumanInTheLoop
  ui: {title: Refund?, instruction: "Say whether."}
  human_feedback: [{name: refund, type: boolean, required: true}]
  output_key: said
- {id: done, kind: Functional, runner: set, values: {heard: "{{ said.refund }}"}}
"""
NODE = """
from tests.support.gates import wait_at
from tuvl import node

@node("gate")
async def gate(ctx):
    await wait_at(ctx.get("gate", "g"))
    return {}
"""
NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def shop(root: Path) -> Project:
    """A project with a workflow that ends at once, one that waits at a gate, and triggers."""
    project = Project(root)
    (root / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: {name: shop}\nspec: {}\n", encoding="utf-8")
    project.node(NODE, file="gates.py")
    project.workflow(QUICK, name="quick", input=NAMED, trigger={"path": "/api/greet"})
    project.workflow(QUICK, name="open", input=NAMED, trigger={"path": "/hooks/open", "method": "GET", "public": True})
    project.workflow(GATED, name="gated")
    project.workflow(QUICK, name="guarded", meta={"required_scope": "refunds"})
    return project


@dataclass
class Serving:
    """A server that listens."""

    url: str
    services: Services
    stop: asyncio.Event
    task: "asyncio.Task[None]"
    clients: list[httpx.AsyncClient] = field(default_factory=list)

    async def token(
        self,
        *scopes: str,
        id: str = "ci",
        tenant: str | None = None,
        groups: tuple[str, ...] = (),
        lasts_s: float | None = None,
    ) -> str:
        made = new_token()
        principal = Principal(id=id, tenant=tenant, groups=frozenset(groups), scopes=frozenset(scopes or SCOPES))
        now = datetime.now(UTC)
        row = TokenRow(
            id=made.id,
            label="",
            digest=made.digest,
            principal=principal,
            created_at=now,
            expires_at=None if lasts_s is None else now + timedelta(seconds=lasts_s),
        )
        await self.services.registry.access.store.access.add_token(row)
        return made.text

    async def client(self, *scopes: str, **who: object) -> httpx.AsyncClient:
        return self.anyone(Authorization=f"Bearer {await self.token(*scopes, **who)}")

    def anyone(self, **headers: str) -> httpx.AsyncClient:
        client = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30, trust_env=False)
        self.clients.append(client)
        return client


@asynccontextmanager
async def serving(
    project: Project,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    durable: bool = False,
    **options: object,
) -> AsyncIterator[Serving]:
    """Serve a project while the block runs."""
    settings = settings or project.settings
    index = ProjectIndex(project.root)
    engine = Engine(index, settings=settings, environ=project.environ)
    catalogue, report = catalogue_of(index, engine)
    assert not report.failed(), [finding.message for finding in report.findings]
    bounds = replace(ServerOptions(port=0, rate=None), **options)
    services = make_services(index, catalogue, engine, settings=settings, options=bounds, clock=clock)
    if durable:
        try:
            await prepare(services)
        except BaseException:
            await services.aclose()
            raise
    else:
        await services.registry.access.ready()
    listening = bind(bounds.host, bounds.port, backlog=2048)
    stop = asyncio.Event()
    task = asyncio.create_task(serve(services, listening, stop=stop))
    server = Serving(url=url_of(listening), services=services, stop=stop, task=task)
    try:
        yield server
    finally:
        for client in server.clients:
            await client.aclose()
        for run in list(services.live._running.values()):
            run.control.abort("the test is over")
        stop.set()
        await task


def problem(response: httpx.Response, status: int, kind: str) -> dict:
    """See that a response is problem details of a kind, and return them."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    said = response.json()
    assert said["type"] == f"urn:tuvl:problem:{kind}"
    assert said["status"] == status
    assert said["title"]
    assert said["detail"]
    return said


async def events_of(response: httpx.Response) -> list[dict]:
    """Read an event stream to its end; each event with its `id`."""
    return [event async for event in each_event(response)]


async def each_event(response: httpx.Response) -> AsyncIterator[dict]:
    event: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif "data" in event:
            yield {**json.loads(event["data"]), "id": event.get("id")}
            event = {}
        else:
            event = {}
