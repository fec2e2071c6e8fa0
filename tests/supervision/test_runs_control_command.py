"""`tuvl runs pause|resume|steer|abort` and `list --live` in processes of their own, on a run in another one."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.cli_support import command, environment, tuvl, write
from tuvl.__main__ import main

pytestmark = pytest.mark.timeout(400)
"""Each test starts several processes, one after the other."""

APPEARS_S = 120
"""Longest wait for something that another process does."""

FLOW = """\
kind: Workflow
metadata: { name: flow }
spec:
  supervisor:
    watches: [agent]
    rules:
      - { when: tool_repeated, tool: look, count: 1, then: pause }
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: m
        steering: Go.
        tools: [{ ref: look, description: Looks. }]
        audit: true
      routes: { max_iterations: END, aborted: END }
    - { id: look, kind: Functional, runner: look }
"""
NODES = """\
from tuvl import node


@node("look", effects="read")
def look(ctx):
    return {"found": 1}
"""
MODEL = """\
kind: AgentModel
metadata: { name: m }
spec:
  provider: scripted
  replies:
    - { tool_calls: [{ name: look, arguments: { q: a } }, { name: look, arguments: { q: b } }] }
    - done
"""
PROJECT = {"workflows/flow.yaml": FLOW, "nodes/n.py": NODES, "llms/m.yaml": MODEL}


class Paused:
    """A run that its supervisor has paused, in a process of its own, and that stands on the list."""

    def __init__(self, folder: Path, *words: str, **environ: str) -> None:
        self.folder = write(folder, PROJECT)
        self.process = subprocess.Popen(
            command(*(words or ("run", "workflows/flow.yaml"))),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment(**environ),
            text=True,
        )
        self.id = self._listed()

    def _listed(self) -> str:
        until = time.monotonic() + APPEARS_S
        while time.monotonic() < until and self.process.poll() is None:
            pid = f":{self.process.pid}:"
            runs = [each for each in live(self.folder) if each["state"] == "paused" and pid in each["owner"]]
            if runs:
                return str(runs[0]["run_id"])
        raise AssertionError(f"no paused run came: {self.process.communicate()}")

    def ended(self) -> tuple[dict, str]:
        """The result document, and what stderr said."""
        out, err = self.process.communicate(timeout=APPEARS_S)
        return json.loads(out), err


def live(folder: Path, *words: str) -> list[dict]:
    done = tuvl("runs", "list", "--live", "--format", "json", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["--live", "--status", "failed"],
        ["--live", "--waiting"],
        ["--waiting", "--status", "failed"],
        ["--live", "--conversation", "c"],
    ],
)
def test_a_list_refuses_filters_that_it_does_not_follow(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write(tmp_path, PROJECT))
    assert main(["runs", "list", *words]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "exclude each other" in err


@pytest.fixture
def paused(tmp_path: Path) -> Iterator[Paused]:
    run = Paused(tmp_path)
    yield run
    if run.process.poll() is None:
        run.process.kill()
        run.process.communicate()


def test_a_paused_run_says_how_it_goes_on_and_goes_on_so(paused: Paused) -> None:
    done = tuvl("runs", "resume", paused.id, "--by", "ann", "--wait", "--timeout", "30", cwd=paused.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"run {paused.id} was told to resume, and goes on\n"
    document, said = paused.ended()
    assert (document["status"], paused.process.returncode) == ("completed", 0)
    assert "paused by the supervisor's rules[0] tool_repeated: tool 'look' called 1 times" in said
    assert f"go on with `tuvl runs resume {paused.id}`, stop with Ctrl-C; after 5 min 00 s it is aborted" in said
    assert "resumed by ann" in said
    trace = tuvl("runs", "trace", paused.id, cwd=paused.folder).stdout
    assert "pause by rule rules[0] tool_repeated" in trace
    assert "the run · resume by operator ann" in trace
    assert live(paused.folder) == []


def test_an_abort_tells_who_and_why(paused: Paused) -> None:
    words = ("--reason", "wrong customer", "--by", "ann", "--wait", "--timeout", "30", "--format", "json")
    done = tuvl("runs", "abort", paused.id, *words, cwd=paused.folder)
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["run_id"], told["kind"], told["outcome"]) == (paused.id, "abort", "applied")
    document, _ = paused.ended()
    assert (document["status"], paused.process.returncode) == ("aborted", 4)
    assert document["error"]["message"] == "aborted by ann: wrong customer"


def test_what_is_told_without_waiting_is_done_in_order(paused: Paused) -> None:
    for words in (("steer", paused.id, "Come to an end."), ("pause", paused.id), ("resume", paused.id)):
        done = tuvl("runs", *words, cwd=paused.folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"will be told to {words[0]}" in done.stdout
    document, said = paused.ended()
    assert document["status"] == "completed"
    assert said.index("steered by local") < said.index("resumed by local")


def test_a_run_of_another_tenant_is_not_there(paused: Paused) -> None:
    (paused.folder / "eve.yaml").write_text("{ id: eve, tenant: other, scopes: [] }\n", encoding="utf-8")
    done = tuvl("runs", "abort", paused.id, "--principal", "eve.yaml", cwd=paused.folder)
    assert done.returncode == 2
    assert f"there is no run {paused.id!r} on record" in done.stderr
    assert live(paused.folder, "--principal", "eve.yaml") == []


def test_a_durable_run_that_was_paused_when_its_process_died_is_paused_when_it_goes_on(tmp_path: Path) -> None:
    first = Paused(tmp_path, "run", "workflows/flow.yaml", "--durable")
    first.process.kill()
    first.process.communicate()
    second = Paused(tmp_path, "resume", first.id)
    assert second.id == first.id
    assert tuvl("runs", "resume", first.id, "--wait", "--timeout", "30", cwd=tmp_path).returncode == 0
    document, _ = second.ended()
    assert document["status"] == "completed"
    entries = json.loads(tuvl("runs", "trace", first.id, "--format", "json", cwd=tmp_path).stdout)
    told = [(each["action"], each["source"]) for each in entries if each["type"] == "intervention"]
    assert told == [("pause", "rule"), ("resume", "operator")]


def test_the_run_of_a_process_that_was_killed_is_told_to_be_gone(paused: Paused) -> None:
    paused.process.send_signal(signal.SIGKILL)
    paused.process.communicate()
    until = time.monotonic() + APPEARS_S
    while live(paused.folder)[0]["state"] != "gone" and time.monotonic() < until:
        pass
    done = tuvl("runs", "pause", paused.id, cwd=paused.folder)
    assert done.returncode == 1
    assert f"nobody has run {paused.id} any more" in done.stderr


def silent_for(folder: Path, seconds: float) -> None:
    """Let it be so long since anybody was heard of."""
    with closing(sqlite3.connect(folder / ".tuvl" / "runs.db")) as store, store:
        store.execute("UPDATE tuvl_live_runs SET beat_at = ?", (time.time() - seconds,))
        store.execute("UPDATE tuvl_passing_runs SET at = ?", (time.time() - seconds,))


def test_the_run_of_a_process_that_was_killed_is_ended_on_record_and_not_told_to_go_on_forever(paused: Paused) -> None:
    paused.process.send_signal(signal.SIGKILL)
    paused.process.communicate()
    silent_for(paused.folder, 20)
    shown = tuvl("runs", "show", paused.id, cwd=paused.folder).stdout
    assert "running (process gone)" in shown
    assert "tuvl resume" not in shown, "nothing goes on that is not durable"
    silent_for(paused.folder, 90)
    (run,) = json.loads(tuvl("runs", "list", "--format", "json", cwd=paused.folder).stdout)
    assert (run["status"], run["error"]["type"]) == ("failed", "process_lost")
    assert "nothing says how far it came (process_lost)" in tuvl("runs", "show", paused.id, cwd=paused.folder).stdout
    assert live(paused.folder) == []


def test_a_run_whose_process_gives_signs_of_life_is_not_ended_however_old_it_is(paused: Paused) -> None:
    with closing(sqlite3.connect(paused.folder / ".tuvl" / "runs.db")) as store, store:
        store.execute("UPDATE tuvl_passing_runs SET at = ?", (time.time() - 90,))
    (run,) = json.loads(tuvl("runs", "list", "--format", "json", cwd=paused.folder).stdout)
    assert (run["status"], run.get("process")) == ("running", None)


def test_a_run_that_has_ended_cannot_be_told_anything(tmp_path: Path) -> None:
    flow = FLOW.replace("then: pause", "then: abort")
    write(tmp_path, {**PROJECT, "workflows/flow.yaml": flow})
    run_id = json.loads(tuvl("run", "workflows/flow.yaml", cwd=tmp_path).stdout)["run_id"]
    done = tuvl("runs", "pause", run_id, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"run {run_id} has ended (aborted); there is nothing to pause" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pause", "nope"), "there is no run 'nope' on record"),
        (("steer", "nope", "  "), "the message is empty"),
        (("steer", "nope", "x" * 9000), "the message has 9,000 characters; 8,192 are the most"),
        (("steer", "nope"), "MESSAGE"),
        (("pause",), "RUN"),
        (("abort", "nope", "--project", "nowhere"), "'nowhere', which is no folder"),
        (("resume", "nope", "--principal", "nowhere.yaml"), "nowhere.yaml"),
        (("resume", "nope", "--wait", "--timeout", "0"), "--timeout"),
    ],
)
def test_what_makes_no_sense_is_told_without_a_traceback_and_makes_nothing(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = tuvl("runs", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_pause_that_nobody_ends_aborts_the_run_and_says_after_how_long(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    environ = environment(TUVL_AGENT_PAUSE_MAX_S="0.2")
    done = tuvl("run", "workflows/flow.yaml", cwd=tmp_path, environ=environ)
    assert done.returncode == 4
    assert "after 200 ms it is aborted" in done.stderr
    assert json.loads(done.stdout)["error"]["message"] == "paused for more than 0.2 s"


def test_ctrl_c_ends_a_paused_run(paused: Paused) -> None:
    os.kill(paused.process.pid, signal.SIGINT)
    document, _ = paused.ended()
    assert (document["status"], paused.process.returncode) == ("aborted", 130)


def test_a_run_that_is_not_on_record_loads_nothing_of_this(tmp_path: Path) -> None:
    plain = FLOW[: FLOW.index("  supervisor:")] + FLOW[FLOW.index("  steps:") :].replace("audit: true", "audit: null")
    write(tmp_path, {**PROJECT, "workflows/flow.yaml": plain})
    environ = environment(PYTHONPROFILEIMPORTTIME="1")
    done = tuvl("run", "workflows/flow.yaml", cwd=tmp_path, environ=environ)
    assert done.returncode == 0
    assert "tuvl.runtime" in done.stderr
    assert "sqlalchemy" not in done.stderr
    assert "tuvl.supervision.registry" not in done.stderr
    assert not (tmp_path / ".tuvl").exists()
