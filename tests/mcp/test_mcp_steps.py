"""MCP steps in workflows: on the spine and as tools, with real servers, and nothing left behind."""

import asyncio
import contextlib
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cli_support import tuvl
from tests.engine.run_support import Project, ids
from tests.mcp.mcp_support import ODD, alive
from tests.support.clock import LoopTime
from tuvl.check.runner import check_paths
from tuvl.control import RunControl
from tuvl.errors import ConfigError


def mcp_project(root, steps: str, **spec) -> Project:
    project = Project(root, steps, **spec)
    artifact(project, "odd", command=sys.executable, args=[str(ODD), f"log={root / 'log'}"])
    return project


def artifact(project: Project, name: str, *, version: int = 1, transport: str = "stdio", **fields) -> None:
    document = {
        "kind": "Artifact",
        "metadata": {"name": name, "version": version},
        "spec": {"type": "mcp", "transport": transport, **fields},
    }
    folder = project.root / "artifacts"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}-{version}.yaml").write_text(json.dumps(document), encoding="utf-8")


def step(id: str, tool: str, *, server: str = "artifact://odd", response: object = None, **mcp) -> str:
    call = {"server": server, "tool": tool, **mcp}
    answer = {"output_key": id} if response is None else response
    return f"- {json.dumps({'id': id, 'kind': 'MCP', 'mcp': call, 'response': answer})}\n"


def say(id: str, result: dict, **more) -> str:
    return step(id, "say", arguments={"result": result}, **more)


def text(value: str) -> dict:
    return {"type": "text", "text": value}


def sent(root) -> list[dict]:
    return [json.loads(line) for line in (root / "log").read_text(encoding="utf-8").splitlines()]


def processes_that_name(file: Path) -> list[int]:
    """Return the processes that have a file in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(file).encode() in (folder / "cmdline").read_bytes() and alive(int(folder.name)):
                found.append(int(folder.name))
    return found


async def until_it_hangs(root: Path) -> None:
    """Wait until the call of a tool that never answers has come to the server."""
    log = root / "log"
    async with asyncio.timeout(30):
        while not log.exists() or "hang" not in log.read_text("utf-8"):
            await asyncio.sleep(0.01)


async def test_result_goes_to_its_key_and_arguments_are_templates(tmp_path):
    steps = step("greet", "echo", arguments={"text": "Hello {{ name }}"})
    result = await mcp_project(tmp_path, steps).run({"name": "Mara"})
    assert result.status == "completed", result.error
    assert result.context == {"name": "Mara", "greet": "Hello Mara"}


async def test_single_expression_keeps_its_type_in_an_argument(tmp_path):
    await mcp_project(tmp_path, step("a", "echo", arguments={"text": "{{ order }}", "n": "{{ n }}"})).run(
        {"order": {"id": 7}, "n": 3}
    )
    (call,) = [message for message in sent(tmp_path) if message["method"] == "tools/call"]
    assert call["params"]["arguments"] == {"text": {"id": 7}, "n": 3}


async def test_one_session_serves_the_whole_run_and_is_gone_after_it(tmp_path):
    project = mcp_project(tmp_path, step("a", "pid") + step("b", "pid"))
    result = await project.run()
    assert result.context["a"] == result.context["b"]
    assert not alive(int(result.context["a"]))
    assert [message["method"] for message in sent(tmp_path)].count("initialize") == 1
    again = await project.run()
    assert again.context["a"] != result.context["a"], "each run has sessions of its own"


async def test_two_servers_of_one_run_are_closed_after_a_timeout_in_the_first(tmp_path, caplog):
    """J11 mcp.cancel_scope."""
    steps = (
        step("a", "pid") + step("b", "pid", server="artifact://other") + step("c", "hang", timeout=60).rstrip() + "\n"
    )
    project = mcp_project(tmp_path, steps)
    artifact(project, "other", command=sys.executable, args=[str(ODD)])
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(project.run())
        await until_it_hangs(tmp_path)
        LoopTime().advance(60)
        result = await running
    assert (result.status, result.error.type) == ("failed", "timeout")
    assert "effect is unknown" in result.error.message
    assert not alive(int(result.context["a"]))
    assert not alive(int(result.context["b"]))
    assert caplog.messages == []


async def test_run_that_is_aborted_during_a_call_leaves_no_process(tmp_path):
    project = mcp_project(tmp_path, step("a", "pid") + step("b", "hang", timeout=60))
    control = RunControl()
    running = asyncio.create_task(project.run(control=control))
    await until_it_hangs(tmp_path)
    control.abort("enough")
    result = await running
    assert result.status == "aborted"
    assert not alive(int(result.context["a"]))
    assert [m["method"] for m in sent(tmp_path)].count("notifications/cancelled") == 1


@pytest.mark.parametrize("bound", ["run", "step", "cancel"])
async def test_run_that_is_cut_off_during_a_call_leaves_no_process(tmp_path, bound):
    steps = step("a", "pid") + step("b", "hang", timeout=600)
    if bound == "step":
        steps = steps.replace('"id": "b"', '"id": "b", "timeout_s": 300')
    project = mcp_project(tmp_path, steps)
    running = asyncio.create_task(project.run(timeout_s=300 if bound == "run" else None))
    await until_it_hangs(tmp_path)
    if bound == "cancel":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        LoopTime().advance(300)
        assert (await running).status == "failed"
    assert processes_that_name(tmp_path / "log") == []


async def test_tools_error_is_an_error_signal_with_its_content(tmp_path):
    """J03 mcp.is_error."""
    steps = (
        say("a", {"isError": True, "content": [text("quota used up")]})
        + "- { id: ok, kind: Functional, runner: log, message: x }"
    )
    result = await mcp_project(tmp_path, steps.replace('"id": "a"', '"id": "a", "routes": {"error": "END"}')).run()
    assert ids(result) == ["a"]
    assert (result.signal, result.status) == ("error", "completed")
    assert result.error.type == "mcp_tool_error"
    assert result.error.message == "tool 'say' of 'artifact://odd@1' reported an error: quota used up"
    assert result.error.detail == {"content": "quota used up"}


async def test_structured_content_is_taken_apart_by_paths(tmp_path):
    wanted = {"extract": [{"path": "lines.0.sku", "as": "sku"}]}
    result = await mcp_project(
        tmp_path, say("a", {"content": [], "structuredContent": {"lines": [{"sku": "x1"}]}}, response=wanted)
    ).run()
    assert result.context == {"sku": "x1"}


async def test_json_in_a_text_is_taken_apart_by_paths_and_kept_as_text(tmp_path):
    wanted = {"output_key": "whole", "extract": [{"path": "total", "as": "total"}]}
    result = await mcp_project(tmp_path, say("a", {"content": [text('{"total": 3}')]}, response=wanted)).run()
    assert result.context == {"whole": '{"total": 3}', "total": 3}


async def test_path_that_is_not_there_is_an_error_that_names_it(tmp_path):
    wanted = {"extract": [{"path": "b", "as": "b"}]}
    result = await mcp_project(
        tmp_path, say("a", {"content": [], "structuredContent": {"a": 1}}, response=wanted)
    ).run()
    assert result.error.type == "bad_response"
    assert "the response has no 'b'" in result.error.message


async def test_structured_result_that_breaks_its_own_schema_is_no_result(tmp_path):
    steps = step("a", "shaped", arguments={"result": {"content": [], "structuredContent": {"secret-ish": 1}}})
    project = mcp_project(tmp_path, steps)
    artifact(project, "odd", command=sys.executable, args=[str(ODD), "odd"])
    result = await project.run()
    assert result.error.type == "bad_response"
    assert "does not fit the schema the server declares for it" in result.error.message
    assert "secret-ish" not in result.error.message


async def test_schema_that_is_none_proves_nothing(tmp_path):
    """I02 schema.dialect."""
    steps = step("a", "misshaped", arguments={"result": {"content": [], "structuredContent": {"n": 1}}})
    project = mcp_project(tmp_path, steps)
    artifact(project, "odd", command=sys.executable, args=[str(ODD), "odd"])
    assert (await project.run()).context == {"a": {"n": 1}}


async def test_artifact_version_that_is_pinned_is_the_one_that_is_used(tmp_path):
    steps = step("old", "environ", server="artifact://odd@1", response={"extract": [{"path": "V", "as": "old"}]})
    steps += step("new", "environ", response={"extract": [{"path": "V", "as": "new"}]})
    project = mcp_project(tmp_path, steps)
    for version in (1, 2):
        artifact(project, "odd", version=version, command=sys.executable, args=[str(ODD)], env={"V": f"v{version}"})
    assert (await project.run()).context == {"old": "v1", "new": "v2"}


async def test_server_starts_in_the_root_of_the_project(tmp_path):
    wanted = {"extract": [{"path": "cwd", "as": "cwd"}]}
    result = await mcp_project(tmp_path, step("a", "environ", response=wanted)).run()
    assert result.context == {"cwd": str(tmp_path.resolve())}


def test_artifact_of_another_type_is_refused(tmp_path):
    project = Project(tmp_path, step("a", "echo", server="artifact://words"))
    project.artifact("words", "prompt", "Hello.")
    with pytest.raises(ConfigError, match=re.escape("'mcp.server'")):
        project.plan()


AGENT = {
    "id": "agent",
    "kind": "Agent",
    "mode": "autonomous",
    "agent": {"model": "default", "steering": "Do it.", "tools": [{"ref": "look", "description": "d"}]},
    "routes": {"default": "END", "error": "END", "max_iterations": "END", "aborted": "END"},
}


def looking(tmp_path, tool: str, *replies, **mcp) -> Project:
    project = mcp_project(tmp_path, f"- {json.dumps(AGENT)}\n" + step("look", tool, **mcp))
    return project.model(*replies)


def ask(arguments: object) -> dict:
    return {"tool_calls": [{"name": "look", "arguments": arguments}]}


def told(result) -> list:
    return [json.loads(entry["content"]) for entry in result.trace if entry["type"] == "tool_result"]


async def test_agent_calls_a_servers_tool_with_derived_parameters(tmp_path):
    project = looking(tmp_path, "echo", ask({"text": "hi"}), "done", arguments={"text": "{{ text }}", "fixed": 1})
    (tool,) = project.plan().steps["agent"].action.tools
    assert tool.spec.parameters == {
        "type": "object",
        "properties": {"text": {"description": "Goes into the argument text."}},
        "required": ["text"],
    }
    result = await project.run(trace=True)
    assert told(result) == [{"look": "hi"}]


async def test_tool_without_arguments_offers_an_empty_object(tmp_path):
    """I01 schema.no_args."""
    project = looking(tmp_path, "echo", ask(None), "done")
    (tool,) = project.plan().steps["agent"].action.tools
    assert tool.spec.parameters == {"type": "object", "properties": {}}
    assert told(await project.run(trace=True)) == [{"look": ""}]


async def test_model_reads_the_words_of_a_tools_error(tmp_path):
    """J03 mcp.is_error."""
    failed = {"isError": True, "content": [text("quota")]}
    project = looking(tmp_path, "say", ask({}), "done", arguments={"result": failed})
    (answer,) = told(await project.run(trace=True))
    assert answer["error"]["type"] == "mcp_tool_error"
    assert answer["error"]["message"].endswith("reported an error: quota")


async def test_model_reads_of_a_dead_server_and_may_call_again(tmp_path):
    """J07 mcp.dead_server."""
    project = looking(tmp_path, "die", ask({}), ask({}), "done")
    first, second = told(await project.run(trace=True))
    assert first["error"]["type"] == second["error"]["type"] == "connection"
    assert "cannot go on" in first["error"]["message"]
    assert [m["method"] for m in sent(tmp_path)].count("initialize") == 2


TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}


async def test_server_of_the_time_converts_it(tmp_path):
    arguments = {"source_timezone": "{{ from }}", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    project = Project(tmp_path, step("t", "convert_time", server="artifact://time@1", arguments=arguments))
    artifact(project, "time", **TIME)
    assert not check_paths([tmp_path]).failed()
    result = await project.run({"from": "UTC"})
    assert result.status == "completed", result.error
    value = result.context["t"]
    found = value if isinstance(value, dict) else json.loads(value)
    assert found["target"]["timezone"] == "Asia/Tokyo"
    assert found["target"]["datetime"].endswith("T21:00:00+09:00")


async def test_server_of_the_time_explains_what_it_does_not_know(tmp_path):
    arguments = {"source_timezone": "Mars/Base", "time": "12:00", "target_timezone": "UTC"}
    project = Project(tmp_path, step("t", "convert_time", server="artifact://time", arguments=arguments))
    artifact(project, "time", **TIME)
    result = await project.run()
    assert (result.status, result.error.type) == ("failed", "mcp_tool_error")
    assert "Mars/Base" in result.error.message


async def test_server_of_git_reads_a_repository(tmp_path):
    repository = tmp_path / "repo"
    repository.mkdir()

    def git(*words: str) -> None:
        identity = ["-c", "user.name=Mara", "-c", "user.email=mara@example.org"]
        subprocess.run(["git", *identity, *words], cwd=repository, check=True, capture_output=True)

    git("init", "-b", "main")
    (repository / "a.txt").write_text("a\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-m", "Keep the first file")
    where = {"repo_path": str(repository)}
    steps = step("log", "git_log", server="artifact://git", arguments={**where, "max_count": 5})
    steps += step("status", "git_status", server="artifact://git", arguments=where)
    project = Project(tmp_path / "project", steps)
    artifact(project, "git", command=sys.executable, args=["-m", "mcp_server_git", "--repository", str(repository)])
    result = await project.run()
    assert result.status == "completed", result.error
    assert "Keep the first file" in json.dumps(result.context["log"])
    assert "nothing to commit" in json.dumps(result.context["status"])


def test_dry_run_names_the_programs_and_hosts_and_the_variables_of_servers(tmp_path):
    steps = step("a", "echo") + step("b", "echo", server="artifact://web")
    project = mcp_project(tmp_path, steps)
    artifact(project, "odd", command="odd-server", args=["--key", "${ODD_KEY}"])
    artifact(project, "web", transport="http", url="https://tools.example/mcp", headers={"X-Key": "${WEB_KEY:}"})
    done = tuvl("run", "flow", "--dry-run", "--format", "json", cwd=tmp_path)
    plan = json.loads(done.stdout)
    assert (plan["programs"], plan["hosts"]) == (["odd-server --key ${ODD_KEY}"], ["tools.example"])
    assert [(entry["name"], entry["needed"]) for entry in plan["environment"]] == [
        ("ODD_KEY", True),
        ("WEB_KEY", False),
    ]
    assert "programs    odd-server --key ${ODD_KEY}" in tuvl("run", "flow", "--dry-run", cwd=tmp_path).stdout


def test_run_without_such_steps_loads_nothing_of_the_sdk(tmp_path):
    Project(tmp_path, "- { id: a, kind: Functional, runner: set, values: { x: 1 } }")
    code = (
        "import sys; from tuvl.__main__ import main; "
        "code = main(['run', 'flow', '--events', 'none', '--output', 'o']); "
        "print(code, *sorted({'mcp', 'mcp_types', 'anyio', 'httpx2', 'uvicorn'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0"]
