"""`tuvl serve` and `tuvl token`: who is let in, what SIGTERM does under load, and what is said of misuse."""

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.engine.run_support import Project
from tests.server.server_support import QUICK, problem
from tuvl.cli.app import main
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import RunFilter
from tuvl.principal import Principal

GATED = """
- {id: first, kind: Functional, runner: gate}
- {id: done, kind: Functional, runner: set, values: {passed: true}}
"""
GATE = """
import asyncio
from pathlib import Path
from tuvl import node

@node("gate")
async def gate(ctx):
    while not Path("OPEN").exists():
        await asyncio.sleep(0.05)
    return {}
"""
ENDLESS = """
- {id: first, kind: Functional, runner: wait, seconds: 600}
"""
LOAD = 200 if os.environ.get("TUVL_SOAK") else 30


def shop(root: Path) -> Project:
    project = Project(root)
    (root / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: {name: shop}\nspec: {}\n", encoding="utf-8")
    project.workflow(QUICK, name="quick", input={"type": "object"})
    project.node(GATE.replace("OPEN", str(root / "open")), file="gate.py")
    project.workflow(GATED, name="gated")
    project.workflow(ENDLESS, name="endless")
    return project


def open_gate(root: Path) -> None:
    """Let the runs of `gated` go on, in whichever process."""
    (root / "open").touch()


def token_of(root: Path, capsys, *words: str) -> str:
    assert main(["token", "create", "--principal", "ci", "--scope", "*", "--project", str(root), *words]) == 0
    return capsys.readouterr().out.strip()


@pytest.fixture
def token(tmp_path, capsys) -> str:
    shop(tmp_path)
    return token_of(tmp_path, capsys)


class Server:
    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str) -> None:
        self.process = process
        self.client = httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False
        )
        self.said = ""

    async def ended(self) -> int:
        assert self.process.stderr is not None
        self.said = (await self.process.stderr.read()).decode()
        async with asyncio.timeout(60):
            return await self.process.wait()


@asynccontextmanager
async def served(root: Path, token: str, *words: str):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tuvl",
        "serve",
        "--port",
        "0",
        "--project",
        str(root),
        *words,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        found = re.search(r" at (http://\S+)", line)
        assert found, line + (await process.stderr.read()).decode()
        server = Server(process, found[1], token)
        yield server
        await server.client.aclose()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def events(client: httpx.AsyncClient, run: str) -> str:
    return (await client.get(f"{run}/events")).text


async def test_sigterm_under_load_lets_runs_end_aborts_those_that_do_not_and_tells_every_client(tmp_path, token):
    async with served(tmp_path, token, "--grace", "8", "--concurrency", "500", "--burst", "1000") as server:
        client = server.client
        body = {"mode": "detached", "durable": False}
        starts = [client.post("/api/runs", json={**body, "workflow": "gated"}) for _ in range(LOAD)]
        starts += [client.post("/api/runs", json={**body, "workflow": "endless"}) for _ in range(5)]
        begun = await asyncio.gather(*starts)
        assert {answer.status_code for answer in begun} == {202}
        runs = [answer.headers["location"] for answer in begun]
        watching = [asyncio.create_task(events(client, run)) for run in (*runs[:5], *runs[-5:])]
        waiting = asyncio.create_task(client.post("/api/runs", json={"workflow": "endless"}))
        async with asyncio.timeout(30):
            while len((await client.get("/api/agents")).json()["agents"]) < 6:
                pass
        assert (await client.get("/readyz")).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            while (await client.get("/readyz")).status_code == 200:
                pass
        problem(await client.post("/api/runs", json={"workflow": "quick"}), 503, "closing")
        open_gate(tmp_path)
        texts = await asyncio.gather(*watching)
        assert all(text.count("event: run_finished") == 1 for text in texts)
        assert all('"status":"completed"' in text for text in texts[:5])
        assert all('"status":"aborted"' in text for text in texts[5:])
        document = (await waiting).json()
        assert document["status"] == "aborted"
        assert document["error"]["message"] == "the server is closing down"
        assert await server.ended() == 0
        assert "Traceback" not in server.said
    access = StoreAccess(str(tmp_path), None)
    statuses = [run["status"] for run in await access.store.listed(RunFilter(limit=500), Principal())]
    await access.aclose()
    assert sorted(set(statuses)) == ["aborted", "completed"]
    assert (statuses.count("completed"), statuses.count("aborted")) == (LOAD, 6)


async def test_a_second_signal_ends_the_process_at_once(tmp_path, token):
    async with served(tmp_path, token, "--grace", "600") as server:
        body = {"mode": "detached", "durable": False, "workflow": "endless"}
        await server.client.post("/api/runs", json=body)
        server.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            while (await server.client.get("/readyz")).status_code == 200:
                pass
        server.process.send_signal(signal.SIGINT)
        assert await server.ended() == 130


async def test_a_server_without_a_token_lets_nobody_in_and_says_so(tmp_path):
    shop(tmp_path)
    async with served(tmp_path, "x") as server:
        problem(await server.client.get("/api/runs"), 401, "unauthorized")
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
        assert "nobody gets in" in server.said


def test_other_machines_are_not_let_in_without_a_token_to_ask_for(tmp_path, capsys):
    shop(tmp_path)
    words = ["serve", "--host", "0.0.0.0", "--port", "0", "--project", str(tmp_path)]
    assert main(words) == 2
    assert "tuvl token create" in capsys.readouterr().err
    token_of(tmp_path, capsys, "--expires-in", "1m")
    rows = main(["token", "list", "--format", "json", "--project", str(tmp_path)])
    (shown,) = json.loads(capsys.readouterr().out)
    assert (rows, shown["state"]) == (0, "valid")
    assert main(["token", "revoke", shown["id"], "--project", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(words) == 2, "a token that opens nothing is none"


def test_where_there_is_no_token_the_list_is_empty_and_stderr_says_so(tmp_path, capsys):
    shop(tmp_path)
    assert main(["token", "list", "--project", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "tuvl token: there are none; `tuvl token create` makes one\n")


def test_a_token_is_shown_once_listed_without_itself_and_revoked_once(tmp_path, capsys):
    shop(tmp_path)
    made = token_of(tmp_path, capsys, "--label", "for CI", "--tenant", "acme", "--group", "clerks")
    _, id, secret = made.split("_", 2)  # a secret may hold such a character itself
    project = ["--project", str(tmp_path)]
    assert main(["token", "list", *project]) == 0
    text = capsys.readouterr().out
    assert id in text
    assert "for CI" in text
    assert "acme/ci" in text
    assert made not in text
    assert secret not in (tmp_path / ".tuvl" / "runs.db").read_bytes().decode("latin-1")
    assert main(["token", "revoke", made, *project]) == 0
    assert main(["token", "revoke", id, *project]) == 2
    assert "no token" in capsys.readouterr().err
    assert main(["token", "list", "--format", "json", *project]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["groups"], shown["scopes"]) == ("revoked", ["clerks"], ["*"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("token", "create"), "--principal"),
        (("token", "create", "--principal", "a", "--scope", "runs:strat"), "did you mean 'runs:start'"),
        (("token", "create", "--principal", "a", "--scope", "a b"), "without spaces"),
        (("token", "create", "--principal", "a", "--expires-in", "soon"), "90d"),
        (("token", "create", "--principal", "a", "--expires-in", "0d"), "90d"),
        (("token", "create", "--principal", "a", "--expires-in", "9999999d"), "at most 36500 days"),
        (("token", "create", "--principal", ""), "--principal"),
        (("token", "create", "--principal", "a", "--tenant", ""), "--tenant takes the id of the tenant"),
        (("token", "create", "--principal", "a", "--tenant", " "), "--tenant takes the id of the tenant"),
        (("token", "create", "--principal", "a", "--group", "clerks", "--group", ""), "--group takes the name"),
        (("token", "create", "--principal", "a", "--group", "x\ny"), "--group takes the name"),
        (("token", "create", "--principal", "a", "--scope", "metrics:raed"), "did you mean 'metrics:read'"),
        (("token", "revoke", "nope"), "no token 'nope'"),
        (("serve", "--port", "70000"), "--port"),
        (("serve", "--concurrency", "0"), "--concurrency"),
        (("serve", "--rate", "0"), "--rate"),
        (("serve", "--host", "no.such.host.invalid"), "--host"),
        (("serve", "--public-url", "agents.example"), "--public-url"),
        (("serve", "--public-url", "ftp://agents.example"), "--public-url"),
        (("serve", "--allow-host", "https://agents.example"), "--allow-host"),
    ],
)
def test_misuse_is_told_in_words(tmp_path, capsys, words, said):
    shop(tmp_path)
    assert main([*words, "--project", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_a_project_with_mistakes_is_not_served(tmp_path, capsys):
    project = shop(tmp_path)
    project.workflow("- {id: a, kind: Functional, runner: set, values: {}, routes: {default: nowhere}}", name="broken")
    assert main(["serve", "--port", "0", "--project", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "broken.yaml" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["kind: Workflow\nspec: [", "kind: Workfow\nmetadata: { name: lost }\nspec: {}\n"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_project_with_a_workflow_that_cannot_be_seen_is_not_served(alone, text, tmp_path, capsys):
    shop(tmp_path)
    for path in (tmp_path / "workflows").iterdir() if alone else ():
        path.unlink()
    (tmp_path / "workflows" / "broken.yaml").write_text(text, encoding="utf-8")
    assert main(["serve", "--port", "0", "--project", str(tmp_path)]) == 2
    assert "broken.yaml' has a mistake that may hide it; mend that file first" in capsys.readouterr().err


def test_a_project_without_workflows_and_a_folder_that_is_not_there_are_not_served(tmp_path, capsys):
    (tmp_path / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: {name: shop}\nspec: {}\n", encoding="utf-8")
    assert main(["serve", "--port", "0", "--project", str(tmp_path)]) == 2
    assert "no workflow" in capsys.readouterr().err
    for command in (["serve"], ["token", "list"]):
        assert main([*command, "--project", str(tmp_path / "nowhere")]) == 2
        assert "no folder" in capsys.readouterr().err


def test_a_trigger_on_a_path_of_the_server_is_refused(tmp_path, capsys):
    project = shop(tmp_path)
    project.workflow(QUICK, name="greedy", input={"type": "object"}, trigger={"path": "/api/runs/mine"})
    assert main(["serve", "--port", "0", "--project", str(tmp_path)]) == 1
    assert "/api/runs/mine" in capsys.readouterr().err


def test_a_database_that_cannot_be_used_is_told_before_anything_is_served(tmp_path, capsys):
    shop(tmp_path)
    (tmp_path / ".tuvl").mkdir()
    (tmp_path / ".tuvl" / "runs.db").write_text("this is no database, and long enough for that to be seen" * 40)
    assert main(["serve", "--port", "0", "--project", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "runs.db" in err
    assert "Traceback" not in err
