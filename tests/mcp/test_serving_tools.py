"""`tuvl mcp`: a workflow's tools and whole workflows, driven by the SDK's own client."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.cli.cli_support import command, environment, tuvl, write
from tests.mcp.mcp_support import alive
from tuvl.__main__ import main

TRIAGE = """\
kind: Workflow
metadata: { name: triage, description: Decide what becomes of a ticket. }
spec:
  input:
    type: object
    required: [ticket]
    properties: { ticket: { type: string } }
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: default
        steering: Look, then decide.
        tools:
          - ref: shout
            description: Say something louder.
            parameters:
              type: object
              additionalProperties: false
              required: [words]
              properties:
                words: { type: string, maxLength: 40 }
                times: { anyOf: [{ type: integer }, { type: "null" }] }
          - { ref: refund, description: Pay money back., approval: required }
          - { ref: fails, description: Fails every time. }
          - { ref: noisy, description: Prints where it should not., timeout_s: 20 }
          - { ref: waits, description: Waits for ever., timeout_s: 60 }
          - { ref: guarded, description: For clerks only. }
      routes: { default: END, error: END, max_iterations: END, aborted: END }
    - id: shout
      kind: Functional
      runner: set
      effects: read
      values: { said: "{{ words | upper }}!", shop: "{{ shop | default('none') }}" }
    - { id: refund, kind: Functional, runner: set, values: { paid: true } }
    - { id: fails, kind: Functional, runner: fail, message: "out of {{ thing | default('paper') }}" }
    - { id: noisy, kind: Functional, runner: noisy }
    - { id: waits, kind: Functional, runner: waits }
    - { id: guarded, kind: Functional, runner: set, values: { secret: 1 }, auth: { required_scope: clerk } }
  output: agent_result
"""

GREET = """\
kind: Workflow
metadata: { name: greet.them, description: Greet somebody. }
spec:
  input:
    type: object
    required: [name]
    properties: { name: { type: string } }
  steps:
    - { id: compose, kind: Functional, runner: set, values: { greeting: { text: "Hello {{ name }}" } } }
  output: greeting
"""

CLOSED = """\
kind: Workflow
metadata: { name: payroll, required_scope: boss }
spec:
  steps:
    - { id: compose, kind: Functional, runner: set, values: { x: 1 } }
"""

NODES = """\
import asyncio
import pathlib
import subprocess

from tuvl import node


@node("noisy")
def noisy(ctx):
    print("this is no protocol")
    subprocess.run(["echo", "neither is this"], check=True)
    return {"quiet": input_is_closed()}


def input_is_closed():
    import sys

    return sys.stdin.read() == ""


@node("waits")
async def waits(ctx):
    pathlib.Path("waiting").touch()
    try:
        await asyncio.sleep(600)
    finally:
        pathlib.Path("stopped").touch()
    return {}
"""

MODEL = """\
kind: AgentModel
metadata: { name: default }
spec: { provider: scripted, replies: [{ text: closed }] }
"""


@pytest.fixture
def project(tmp_path) -> Path:
    return write(
        tmp_path,
        {
            "tuvl.yaml": "kind: ProjectConfig\nmetadata: { name: p }\n",
            "workflows/triage.yaml": TRIAGE,
            "workflows/greet.yaml": GREET,
            "workflows/payroll.yaml": CLOSED,
            "llms/default.yaml": MODEL,
            "nodes/own.py": NODES,
            "clerk.yaml": "{ id: carla, scopes: [clerk] }",
            "visitor.yaml": "{ id: victor, scopes: [] }",
            "context.yaml": "{ shop: corner }",
        },
    )


@asynccontextmanager
async def client(project: Path, *words: str, mode: str = "legacy") -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=command("mcp", *words)[1:], cwd=project, env=environment()
    )
    async with asyncio.timeout(60), Client(server, mode=mode) as found:
        yield found


def text(result) -> str:
    (block,) = result.content
    return block.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_tools_of_a_workflow_and_the_workflow_itself_are_offered_with_their_schemas(project, mode):
    async with client(project, "triage", mode=mode) as call:
        tools = {tool.name: tool for tool in (await call.list_tools()).tools}
        said = await call.call_tool("shout", {"words": "tea"})
    assert list(tools) == ["shout", "refund", "fails", "noisy", "waits", "guarded", "triage"]
    assert all(tool.input_schema["type"] == "object" for tool in tools.values())
    assert tools["shout"].description == "Say something louder."
    assert tools["shout"].input_schema["required"] == ["words"]
    assert tools["shout"].annotations.read_only_hint is True
    assert tools["refund"].annotations.read_only_hint is False
    assert tools["refund"].input_schema == {"type": "object", "properties": {}}
    assert tools["triage"].description == "Decide what becomes of a ticket."
    assert tools["triage"].input_schema["required"] == ["ticket"]
    assert said.structured_content == {"said": "TEA!", "shop": "none"}


async def test_call_goes_through_the_checks_and_the_dispatch_of_the_loop(project):
    async with client(project, "triage") as call:
        good = await call.call_tool("shout", {"words": "tea", "times": None})
        bad = await call.call_tool("shout", {"words": 7, "more": 1})
        failed = await call.call_tool("fails", {"thing": "ink"})
        denied = await call.call_tool("refund", {})
    assert not good.is_error
    assert json.loads(text(good)) == good.structured_content == {"said": "TEA!", "shop": "none"}
    assert bad.is_error
    assert bad.structured_content["error"]["type"] == "invalid_arguments"
    assert bad.structured_content["error"]["message"].startswith("words: must be of type")
    assert failed.is_error
    assert failed.structured_content["error"]["message"] == "out of ink"
    assert denied.is_error
    assert denied.structured_content["error"]["type"] == "approval_denied"


async def test_approval_may_be_given_to_all(project):
    async with client(project, "triage", "--approve", "all") as call:
        assert (await call.call_tool("refund", {})).structured_content == {"paid": True}


async def test_tools_see_the_context_they_are_given_and_calls_share_nothing(project):
    async with client(project, "triage", "--input", "context.yaml") as call:
        results = await asyncio.gather(*(call.call_tool("shout", {"words": word}) for word in "abc"))
    assert [result.structured_content for result in results] == [
        {"said": f"{word}!", "shop": "corner"} for word in "ABC"
    ]


async def test_workflow_is_run_whole_and_its_result_told(project):
    async with client(project, "triage", "--also", "greet.them") as call:
        names = [tool.name for tool in (await call.list_tools()).tools]
        ran = await call.call_tool("greet_them", {"name": "Mara"})
        refused = await call.call_tool("greet_them", {"nome": "Mara"})
        triaged = await call.call_tool("triage", {"ticket": "T-1"})
    assert names[-2:] == ["triage", "greet_them"]
    assert ran.structured_content | {"run_id": ""} == {
        "run_id": "",
        "status": "completed",
        "signal": "default",
        "output": {"text": "Hello Mara"},
    }
    assert json.loads(text(ran)) == ran.structured_content
    assert triaged.structured_content["output"] == "closed"
    assert refused.is_error
    assert refused.structured_content["error"]["message"] == (
        "the input does not fit workflow 'greet.them': required key \"name\" is missing"
    )


async def test_unknown_tool_is_an_error_of_the_protocol_with_a_near_name(project):
    async with client(project, "triage") as call:
        with pytest.raises(MCPError, match=r"Unknown tool: shoot \(did you mean 'shout'\?\)"):
            await call.call_tool("shoot", {})


@pytest.mark.parametrize(
    ("principal", "missing"), [("clerk.yaml", set()), ("visitor.yaml", {"guarded"})], ids=["clerk", "visitor"]
)
async def test_what_a_principal_may_not_use_is_not_offered_and_not_callable(project, principal, missing):
    async with client(project, "triage", "--all", "--principal", principal) as call:
        names = {tool.name for tool in (await call.list_tools()).tools}
        assert names == {"shout", "refund", "fails", "noisy", "waits", "guarded", "triage", "greet_them"} - missing
        for name in {"payroll", *missing}:
            with pytest.raises(MCPError, match="Unknown tool"):
                await call.call_tool(name, {})


async def test_what_a_node_prints_or_reads_never_touches_the_protocol(project):
    async with client(project, "triage") as call:
        result = await call.call_tool("noisy", {})
        assert result.structured_content == {"quiet": True}
        assert (await call.call_tool("shout", {"words": "on"})).structured_content["said"] == "ON!"


async def test_call_that_a_client_gives_up_stops(project):
    async with client(project, "triage") as call:
        waiting = asyncio.create_task(call.call_tool("waits", {}))
        while not (project / "waiting").exists():
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        while not (project / "stopped").exists():
            await asyncio.sleep(0.01)
        assert (await call.call_tool("shout", {"words": "on"})).structured_content["said"] == "ON!"


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
WAIT = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "waits", "arguments": {}}}


@asynccontextmanager
async def serving(
    project: Path, *words: str, environ: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *command("mcp", *words),
        cwd=project,
        env=environ or environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def greeted(process: asyncio.subprocess.Process) -> None:
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    assert json.loads(await process.stdout.readline())["id"] == 1


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
async def test_server_ends_cleanly_with_its_client_or_when_told_to_also_during_a_call(project, how):
    async with serving(project, "triage") as process:
        await greeted(process)
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode() + b"\n")
        process.stdin.write(json.dumps(WAIT).encode() + b"\n")
        while not (project / "waiting").exists():
            await asyncio.sleep(0.01)
        if how == "end of input":
            process.stdin.close()
        else:
            process.send_signal(signal.Signals[how])
        rest, errors = await process.stdout.read(), await process.stderr.read()
        assert await process.wait() == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert b"Traceback" not in errors
    assert (project / "stopped").exists()
    assert not alive(process.pid)


async def test_stderr_says_what_is_served_to_whom_and_how_calls_went_and_no_more(project):
    async with serving(project, "triage", "--principal", "visitor.yaml") as process:
        await greeted(process)
        call = {"name": "shout", "arguments": {"words": "confidential"}}
        process.stdin.write(json.dumps({**WAIT, "params": call}).encode() + b"\n")
        assert json.loads(await process.stdout.readline())["id"] == 2
        process.stdin.close()
        said = (await process.stderr.read()).decode()
        await process.wait()
    assert "'guarded' is not offered: principal 'victor' lacks the scope 'clerk'" in said
    assert "serving shout, refund, fails, noisy, waits, triage over stdio, as principal 'victor'" in said
    assert "shout: done, " in said
    assert "confidential" not in said


async def test_http_serves_on_loopback_and_answers_no_foreign_page(project):
    async with serving(project, "triage", "--transport", "http", "--port", "0") as process:
        line = (await process.stderr.readline()).decode()
        url = line.split(" at ")[1].split(",")[0]
        assert url.startswith("http://127.0.0.1:")
        async with Client(url, mode="legacy") as call:
            assert (await call.call_tool("shout", {"words": "tea"})).structured_content["said"] == "TEA!"
        async with httpx2.AsyncClient() as browser:
            for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
                given = {"accept": "application/json, text/event-stream", **headers}
                answer = await browser.post(url, json=INITIALIZE, headers=given)
                assert answer.status_code in {403, 421}
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert b"Traceback" not in await process.stderr.read()


def test_port_that_is_taken_is_told(project):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tuvl("mcp", "triage", "--transport", "http", "--port", str(port), cwd=project)
    assert done.returncode == 2
    assert f"cannot serve on '127.0.0.1', port {port}: address already in use" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere"], 2, "no workflow of that name"),
        (["triage", "--also", "greet"], 2, "--also names 'greet'"),
        (["triage", "--input", "-"], 2, "stdin belongs to the client"),
        (["payroll", "--principal", "visitor.yaml"], 2, "nothing is left to offer to principal 'victor'"),
        (["broken"], 1, "TV"),
    ],
    ids=["workflow", "also", "stdin", "rights", "findings"],
)
def test_what_is_wrong_is_said_before_anything_is_served(project, words, code, said):
    (project / "workflows" / "broken.yaml").write_text(
        CLOSED.replace("payroll", "broken").replace("runner: set", "runner: nothing_like_it"), encoding="utf-8"
    )
    done = tuvl("mcp", *words, cwd=project)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["triage", "--all"], ["triage", "--also", "cut"], ["cut"]])
def test_workflow_that_cannot_be_seen_is_not_passed_over(project, words, monkeypatch, capsys):
    (project / "workflows" / "cut.yaml").write_text(
        "kind: Workflow\nmetadata: { name: cut }\nspec: [", encoding="utf-8"
    )
    monkeypatch.chdir(project)
    assert main(["mcp", *words]) == 2
    assert "'workflows/cut.yaml' has a mistake that may hide it; mend that file first" in capsys.readouterr().err


def test_workflow_and_tool_of_one_name_are_told_apart(project):
    """I03 schema.tool_name."""
    from tuvl.errors import UsageError
    from tuvl.offering.entries import tool_name

    assert tool_name("greet.them/all", []) == "greet_them_all"
    assert tool_name("triage", ["triage"]) == "run_triage"
    assert tool_name("x" * 80, []) == "x" * 64
    with pytest.raises(UsageError, match="workflow 'triage' cannot be offered"):
        tool_name("triage", ["triage", "run_triage"])
