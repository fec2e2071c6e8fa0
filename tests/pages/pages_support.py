"""A project whose runs stop where a test wants, and people who look at them in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import Browser, Page

from tests.engine.run_support import Project
from tests.server.server_support import Serving
from tests.support.browser import Watched, person

NODE = """
from tests.support.gates import wait_at
from tuvl import node

@node("gate")
async def gate(ctx):
    await wait_at(ctx.get("gate", "g"))
    return {}

@node("weigh")
async def weigh(ctx):
    await wait_at(ctx["gate"] + "-tool")
    return {"grams": 412}
"""
DESK = """
- {id: load, kind: Functional, runner: set, values: {order: A-1}}
- {id: hold, kind: Functional, runner: gate}
- id: triage
  kind: Agent
  mode: autonomous
  agent:
    model: default
    steering: Decide.
    max_iterations: 4
    max_tool_calls: 4
    token_budget: 1000
    audit: true
    tools: [{ref: weigh, description: Weigh the parcel.}]
    outcome: {enum: [resolved, escalated]}
  routes: {resolved: done, escalated: done, max_iterations: failed_it, budget_exceeded: failed_it, error: failed_it}
- {id: done, kind: Functional, runner: set, values: {over: true}, routes: {default: END}}
- {id: failed_it, kind: Functional, runner: set, values: {over: false}}
- {id: weigh, kind: Functional, runner: weigh}
"""
APPROVAL = """
- id: clerk
  kind: Agent
  mode: autonomous
  agent:
    model: clerk
    steering: Refund.
    max_iterations: 4
    tools:
      - ref: refund
        description: Refund an order.
        approval: required
        parameters: {type: object, properties: {cents: {type: integer}, why: {type: string}}}
    outcome: {enum: [resolved]}
  routes: {resolved: END, max_iterations: END, error: END}
- {id: refund, kind: Functional, runner: set, values: {refunded: true}}
"""
QUESTION = """
- id: ask
  kind: HumanInTheLoop
  ui: {title: "Sign the contract of {{ customer }}?", instruction: "Read it first.", display_context: [customer]}
  human_feedback:
    - {name: verdict, type: choice, choices: [sign, refuse], label: Verdict}
    - {name: amount, type: integer, required: false, label: Amount}
    - {name: note, type: text, required: false}
  output_key: said
- {id: done, kind: Functional, runner: set, values: {heard: "{{ said.verdict }}"}}
"""
MEAN = "<img src=x onerror=alert(1)>"
"""What must never become markup, wherever it comes from."""
NO_CLOCK = "window.setInterval = () => 0"
"""Leaves a page nothing but the event stream to learn of changes by."""


def use(number: int) -> dict[str, int]:
    return {"input_tokens": number, "output_tokens": 10}


def desk(root: Path) -> Project:
    project = Project(root)
    (root / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: {name: front-desk}\nspec: {}\n", encoding="utf-8")
    project.node(NODE)
    call = {"name": "weigh", "arguments": {}}
    project.model(
        {"text": f"I weigh it. {MEAN}", "tool_calls": [call], "usage": use(290)},
        {"json": {"outcome": "resolved"}, "usage": use(590)},
    )
    why = f"broken {MEAN}"
    project.model(
        {"tool_calls": [{"name": "refund", "arguments": {"cents": 4200, "why": why}}]},
        {"json": {"outcome": "resolved"}},
        name="clerk",
    )
    project.workflow(DESK, name="desk", limits={"max_tokens": 5000, "timeout_s": 600, "max_steps": 20})
    project.workflow(APPROVAL, name="refunds")
    project.workflow(QUESTION, name="contracts")
    project.workflow("- {id: put, kind: Functional, runner: set, values: {done: true}}", name="quick")
    return project


async def signed_cookie(server: Serving, *scopes: str, id: str = "ada", tenant: str | None = None) -> dict[str, str]:
    """Sign in, and return the cookie of the session."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        answer = await client.post("/login", data={"token": await server.token(*scopes, id=id, tenant=tenant)})
    assert answer.status_code == 303, answer.text
    [(name, value)] = answer.cookies.items()
    return {"name": name, "value": value, "url": server.url}


@asynccontextmanager
async def signed_in(
    server: Serving, browser: Browser, *scopes: str, id: str = "ada", **options: object
) -> AsyncIterator[tuple[Watched, Page]]:
    """Have a browser in which somebody has signed in."""
    async with person(browser, base_url=server.url, **options) as watched:
        await watched.context.add_cookies([await signed_cookie(server, *scopes, id=id)])
        yield watched, await watched.page()


async def start(server: Serving, workflow: str, *, durable: bool = False, **input: object) -> str:
    """Start a run that goes on by itself; returns its id."""
    client = await server.client(id="bot")
    body = {"workflow": workflow, "input": input, "mode": "detached", "durable": durable}
    answer = await client.post("/api/runs", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["run_id"]
