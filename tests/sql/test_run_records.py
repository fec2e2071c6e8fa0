"""The store of runs: what is kept while a run goes, and what `tuvl runs` reads, on SQLite and PostgreSQL."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.core import TyperGroup, TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from tests.sql.conftest import Database
from tests.sql.records_support import Records, failure
from tuvl.cli.app import app
from tuvl.cli.runs_app import runs
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunFilter, TraceFilter
from tuvl.errors import ConfigError
from tuvl.principal import Principal
from tuvl.redaction import register_secret
from tuvl.settings import Settings, load_settings
from tuvl.values import JsonObject

ECHO = """
from tuvl import node

@node("echo")
def echo(ctx):
    return {"echo": ctx.args["text"]}

@node("broken")
def broken(ctx):
    raise ValueError("no")
"""


def kept(root: Path, database: Database, **agent: object) -> Records:
    """Make a project whose runs go to a database, with an agent that calls a tool twice and answers."""
    project = Records(root)
    if database.type == "postgresql":
        project.settings = replace(Settings(), database_url=database.connection)
    project.node(ECHO)
    project.model(
        {
            "text": "thinking",
            "tool_calls": [{"name": "say", "arguments": {"text": "hi"}}, {"name": "bad", "arguments": {}}],
        },
        "done",
    )
    body = {
        "model": "default",
        "steering": "Work.",
        "tools": [{"ref": "say", "description": "Say."}, {"ref": "bad", "description": "Fail."}],
        **agent,
    }
    return project.steps(
        {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": body},
        {"id": "say", "kind": "Functional", "runner": "echo"},
        {"id": "bad", "kind": "Functional", "runner": "broken"},
    )


def conversation(id: str) -> dict[str, object]:
    return {"store": "sql", "id": id}


class Reader:
    """Reads the store of a project the way `tuvl runs` does."""

    def __init__(self, project: Records) -> None:
        self._access = StoreAccess(str(project.root), project.settings.database_url)

    async def __aenter__(self):
        return self._access.store

    async def __aexit__(self, *_: object) -> None:
        await self._access.aclose()


async def test_an_audited_run_is_listed_shown_and_traced(database: Database, tmp_path: Path) -> None:
    project = kept(tmp_path, database, audit=True)
    result = await project.run(principal=Principal(id="ada", tenant="acme"))
    async with Reader(project) as store:
        [summary] = await store.listed(RunFilter(), Principal())
        shown = await store.show(result.run_id, Principal())
        trace = await store.trace(result.run_id, TraceFilter())
    assert summary["run_id"] == result.run_id
    assert (summary["status"], summary["signal"], summary["principal"]) == ("completed", "default", "ada")
    assert summary["usage"] == result.usage.to_json()
    assert shown is not None
    assert shown["result"] == json.loads(json.dumps(result.to_json()))
    assert [(entry["type"], entry["iteration"]) for entry in trace] == [
        ("model_call", 1),
        ("tool_call", 1),
        ("tool_call", 1),
        ("model_call", 2),
    ]
    asked, said, failed, answered = trace
    assert asked["content"] == "thinking"
    assert [call["name"] for call in asked["tool_calls"]] == ["say", "bad"]
    assert asked["request_digest"] != answered["request_digest"]
    assert (said["arguments"], said["content"]) == ({"text": "hi"}, '{"echo":"hi"}')
    assert failed["error_type"] == "node_error"
    assert answered["content"] == "done"


async def test_equal_runs_have_equal_request_digests(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    runs = [await project.run(), await project.run()]
    async with Reader(project) as store:
        traces = [await store.trace(run.run_id, TraceFilter()) for run in runs]
    digests = [[entry["request_digest"] for entry in trace if entry["type"] == "model_call"] for trace in traces]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 2


async def test_a_trace_can_be_narrowed_to_a_step_or_a_tool(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    run = await project.run()
    async with Reader(project) as store:
        tools = await store.trace(run.run_id, TraceFilter(tool="say"))
        nobody = await store.trace(run.run_id, TraceFilter(step="somebody"))
    assert [entry["tool"] for entry in tools] == ["say"]
    assert nobody == []


async def test_a_conversation_keeps_its_turns_in_order_and_sums_up_its_usage(database, tmp_path: Path) -> None:
    project = kept(tmp_path, database, conversation=conversation("chat-{{ who }}"))
    first = await project.run({"who": "ada"})
    second = await project.run({"who": "ada"})
    await project.run({"who": "bob"})
    async with Reader(project) as store:
        messages = await store.conversation("chat-ada", Principal())
        shown = await store.show(second.run_id, Principal())
        listed = await store.listed(RunFilter(conversation="chat-ada"), Principal())
        audited = await store.trace(second.run_id, TraceFilter())
    turn = ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [message["role"] for message in messages] == turn * 2
    assert messages[2]["tool_calls"][0]["id"] == messages[3]["tool_call_id"]
    assert messages[5]["content"] == "done"
    assert shown is not None
    [summed] = shown["conversations"]
    assert (summed["id"], summed["messages"]) == ("chat-ada", 12)
    assert summed["usage"]["llm_calls"] == 4
    assert summed["usage"]["total_tokens"] == first.usage.total_tokens + second.usage.total_tokens
    assert summed["usage"]["cost_usd"] is None
    assert {run["run_id"] for run in listed} == {first.run_id, second.run_id}
    assert audited == [], "a conversation is no audit"


async def test_a_conversation_without_an_id_ends_the_agent(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), conversation=conversation("{{ who }}"))
    assert failure(await project.run({"who": ""}))[0] == "bad_value"


async def test_a_run_that_keeps_nothing_leaves_no_store(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""))
    assert (await project.run()).status == "completed"
    assert not (tmp_path / ".tuvl").exists()


async def test_secrets_and_secure_texts_do_not_reach_the_store(database: Database, tmp_path: Path) -> None:
    register_secret("sk-live-very-secret")
    project = kept(tmp_path, database, audit=True, conversation=conversation("c"))
    project.model(
        {
            "text": "key sk-live-very-secret \x00",
            "tool_calls": [{"name": "say", "arguments": {"text": "sk-live-very-secret"}}],
        },
        "done",
    )
    result = await project.run({"key": "sk-live-very-secret"})
    assert result.status == "completed", result.error
    async with Reader(project) as store:
        everything = [
            await store.show(result.run_id, Principal()),
            await store.trace(result.run_id, TraceFilter()),
            await store.conversation("c", Principal()),
        ]
    assert "very-secret" not in json.dumps(everything)
    assert "***" in json.dumps(everything)


BREAKS = """
import os
import sqlite3
from tuvl import node

@node("echo")
def echo(ctx):
    connection = sqlite3.connect(os.path.join({folder!r}, ".tuvl", "runs.db"))
    for table in ("tuvl_tool_calls", "tuvl_model_calls", "tuvl_messages"):
        connection.execute(f"DROP TABLE {{table}}")
    connection.commit()
    connection.close()
    return {{"echo": "x"}}

@node("broken")
def broken(ctx):
    raise ValueError("no")
"""


@pytest.mark.parametrize("field", ["audit", "conversation"])
async def test_a_store_that_breaks_in_the_middle_ends_the_agent_and_is_told_in_our_words(
    field: str, tmp_path: Path
) -> None:
    value = True if field == "audit" else conversation("c")
    project = kept(tmp_path, Database("sqlite", ""), **{field: value})
    project.node(BREAKS.format(folder=str(tmp_path)))
    result = await project.run()
    assert result.status == "failed"
    found, message = failure(result)
    assert found == f"{field}_failed"
    assert message.startswith(f"the {field} could not be written: the store of runs: ")
    assert "sqlalche" not in message


async def test_an_aborted_run_is_kept_as_such(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    control = RunControl()
    control.abort("enough")
    result = await project.run(control=control)
    async with Reader(project) as store:
        shown = await store.show(result.run_id, Principal())
    assert shown is not None
    assert shown["status"] == "aborted"


async def test_a_run_that_is_cancelled_does_not_stay_running(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    project.node(
        "import asyncio\nfrom tuvl import node\nreached = asyncio.Event()\n"
        '@node("echo")\nasync def echo(ctx):\n    ctx.abort.reached = True\n    await asyncio.Event().wait()\n'
        '@node("broken")\ndef broken(ctx): ...\n'
    )
    engine, control = project.engine(), RunControl()
    task = asyncio.create_task(engine.run(project.plan(), {}, control=control))
    async with asyncio.timeout(20):
        while not getattr(control.abort_signal, "reached", False):
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await engine.aclose()
    async with Reader(project) as store:
        [run] = await store.listed(RunFilter(), Principal())
    assert run["status"] == "aborted"


async def test_a_run_of_another_tenant_is_not_there(database: Database, tmp_path: Path) -> None:
    project = kept(tmp_path, database, audit=True, conversation=conversation("c"))
    runs = {
        tenant: await project.run(principal=Principal(id=f"of-{tenant}", tenant=tenant)) for tenant in ("a", "b", None)
    }
    async with Reader(project) as store:
        for tenant, own in runs.items():
            reader = Principal(id="me", tenant=tenant, scopes=frozenset({"runs"}))
            assert [run["run_id"] for run in await store.listed(RunFilter(), reader)] == [own.run_id]
            for other in runs.values():
                shown = await store.show(other.run_id, reader)
                assert (shown is not None) == (other is own)
            assert len(await store.conversation("c", reader)) == 6
            shown = await store.show(own.run_id, reader)
            assert shown is not None
            assert shown["conversations"][0]["usage"]["llm_calls"] == 2
        assert len(await store.listed(RunFilter(), Principal())) == 3


async def test_runs_are_found_by_workflow_status_and_principal(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    good = await project.run(principal=Principal(id="ada"))
    bad = await kept(tmp_path, Database("sqlite", ""), audit=True, token_budget=1).run(principal=Principal(id="bob"))
    assert bad.status == "failed"
    async with Reader(project) as store:

        async def ids(**asked: object) -> list[object]:
            return [run["run_id"] for run in await store.listed(RunFilter(**asked), Principal())]

        assert await ids() == [bad.run_id, good.run_id]
        assert await ids(limit=1) == [bad.run_id]
        assert await ids(status="failed") == [bad.run_id]
        assert await ids(principal="ada") == [good.run_id]
        assert await ids(workflow="flow") == [bad.run_id, good.run_id]
        assert await ids(workflow="other") == []


async def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    await project.run()
    import sqlite3

    with sqlite3.connect(tmp_path / ".tuvl" / "runs.db") as connection:
        connection.execute("UPDATE tuvl_store SET version = 99")
    connection.close()
    with pytest.raises(ConfigError, match="version 99"):
        await project.run()


async def test_a_node_may_keep_the_conversation(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), conversation="keep")
    project.node(
        "from tuvl import node\nturns = []\n"
        '@node("keep")\ndef keep(ctx):\n    turns.append([m["role"] for m in ctx.args["messages"]])\n'
        '@node("turns")\ndef read(ctx):\n    return {"turns": turns}\n',
        file="keeping.py",
    )
    steps = [json.loads(line.strip().removeprefix("- ")) for line in _steps_of(tmp_path)]
    steps.insert(1, {"id": "read", "kind": "Functional", "runner": "turns"})
    project.steps(*steps, {"id": "keep", "kind": "Functional", "runner": "keep"})
    result = await project.run()
    assert result.context["turns"] == [["system", "user"], ["assistant"], ["tool", "tool"], ["assistant"]]


async def test_a_node_that_cannot_keep_the_conversation_ends_the_agent(tmp_path: Path) -> None:
    project = kept(tmp_path, Database("sqlite", ""), conversation="keep")
    steps = [json.loads(line.strip().removeprefix("- ")) for line in _steps_of(tmp_path)]
    project.steps(*steps, {"id": "keep", "kind": "Functional", "runner": "broken"})
    assert failure(await project.run())[0] == "conversation_failed"


def _steps_of(root: Path) -> list[str]:
    text = (root / "workflows" / "flow.yaml").read_text()
    return [line for line in text.splitlines() if line.strip().startswith("- {")]


def test_the_url_of_the_store_is_a_setting() -> None:
    assert load_settings({}).database_url is None
    assert load_settings({"TUVL_DATABASE_URL": "postgresql://h/db"}).database_url == "postgresql://h/db"


# ---- the command line ----------------------------------------------------------------------------------------------


@contextmanager
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliRunner]:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("TUVL_DATABASE_URL", raising=False)
    yield CliRunner()


def test_the_commands_print_text_for_people_and_json_for_programs(tmp_path: Path, monkeypatch) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True, conversation=conversation("chat"))
    run = asyncio.run(project.run())
    with inside(tmp_path, monkeypatch) as cli:
        listed = cli.invoke(app, ["runs", "list", "--format", "json"])
        assert [entry["run_id"] for entry in json.loads(listed.stdout)] == [run.run_id]
        assert run.run_id in cli.invoke(app, ["runs", "list"]).stdout
        shown = cli.invoke(app, ["runs", "show", run.run_id])
        assert "status      completed on 'default'" in shown.stdout
        assert "conversation chat · 6 messages" in shown.stdout
        assert json.loads(cli.invoke(app, ["runs", "show", run.run_id, "--format", "json"]).stdout)["result"]["output"]
        traced = cli.invoke(app, ["runs", "trace", run.run_id])
        assert 'agent: turn 1 · say {"text":"hi"} → default' in traced.stdout
        entries: list[JsonObject] = json.loads(
            cli.invoke(app, ["runs", "trace", run.run_id, "--tool", "bad", "--format", "json"]).stdout
        )
        assert [entry["tool"] for entry in entries] == ["bad"]


def test_a_project_without_runs_has_an_empty_list_and_gets_no_store(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "tuvl.yaml").write_text("kind: ProjectConfig\n")
    with inside(tmp_path, monkeypatch) as cli:
        assert json.loads(cli.invoke(app, ["runs", "list", "--format", "json"]).stdout) == []
        listed = cli.invoke(app, ["runs", "list"])
        assert listed.stdout == ""
        assert listed.stderr.startswith("tuvl: no runs on record; on record are durable runs, ")
    assert not (tmp_path / ".tuvl").exists()


async def test_a_list_of_nothing_says_what_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await kept(tmp_path, Database("sqlite", ""), audit=True).run()
    monkeypatch.chdir(tmp_path)

    def listed(*words: str) -> str:
        done = CliRunner().invoke(app, ["runs", "list", *words])
        assert (done.exit_code, done.stdout) == (0, "")
        return done.stderr

    def ask() -> list[str]:
        return [
            listed("--workflow", "nope"),
            listed("--workflow", "flow", "--status", "aborted"),
            listed("--by", "nobody", "--conversation", "c"),
            listed("--waiting", "--workflow", "flow"),
            listed("--live", "--workflow", "flow"),
        ]

    assert await asyncio.to_thread(ask) == [
        "tuvl: no run on record matches --workflow nope\n",
        "tuvl: no run on record matches --workflow flow --status aborted\n",
        "tuvl: no run on record matches --by nobody --conversation c\n",
        "tuvl: no run waits for anybody\n",
        "tuvl: no run goes on that is on record\n",
    ]


async def test_a_trace_of_nothing_says_what_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    run = (await project.run()).run_id
    silent = (await kept(tmp_path / "silent", Database("sqlite", ""), conversation=conversation("c")).run()).run_id

    def traced(*words: str) -> str:
        done = CliRunner().invoke(app, ["runs", "trace", *words])
        assert done.stdout == ""
        return done.stderr.removeprefix("tuvl: ")

    def ask() -> list[str]:
        with chdir(tmp_path):
            told = [
                traced(run, "--step", "agnt"),
                traced(run, "--step", "zz"),
                traced(run, "--tool", "sya"),
                traced(run, "--step", "agent", "--tool", "look_up"),
            ]
        with chdir(tmp_path / "silent"):
            return [*told, traced(silent, "--step", "zz")]

    assert await asyncio.to_thread(ask) == [
        "nothing audited under --step agnt; did you mean 'agent'?\n",
        "nothing audited under --step zz; there are agent\n",
        "nothing audited under --tool sya; did you mean 'say'?\n",
        "nothing audited under --tool look_up; there are say, bad\n",
        "nothing audited; set `audit: true` on the agents whose calls should be kept\n",
    ]


def test_another_tenants_run_is_not_found_by_the_command(tmp_path: Path, monkeypatch) -> None:
    project = kept(tmp_path, Database("sqlite", ""), audit=True)
    run = asyncio.run(project.run(principal=Principal(id="ada", tenant="acme")))
    (tmp_path / "me.json").write_text(json.dumps({"id": "me", "tenant": "other"}))
    with inside(tmp_path, monkeypatch) as cli:
        found = cli.invoke(app, ["runs", "show", run.run_id, "--principal", "me.json"])
        absent = cli.invoke(app, ["runs", "show", "0" * 32, "--principal", "me.json"])
        assert str(found.exception).replace(run.run_id, "ID") == str(absent.exception).replace("0" * 32, "ID")
        assert found.stdout == ""
        assert json.loads(cli.invoke(app, ["runs", "list", "--format", "json", "--principal", "me.json"]).stdout) == []


def test_every_command_about_runs_has_an_example_and_says_what_its_options_do() -> None:
    group = get_command(runs)
    assert isinstance(group, TyperGroup)
    words = ["list", "show", "trace", "pause", "resume", "steer", "abort", "cancel", "fork", "prune"]
    assert list(group.commands) == words
    for name, command in group.commands.items():
        assert f"tuvl runs {name}" in str(command.epilog)
        assert all(param.help for param in command.params if isinstance(param, TyperOption))
