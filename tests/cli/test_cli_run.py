"""`tuvl run` as a person or a program starts it."""

import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.cli_support import (
    ASK,
    GREET,
    SCRIPTED,
    TIMEOUT_S,
    WAIT,
    command,
    environment,
    project,
    result,
    tuvl,
    write,
)
from tuvl.__main__ import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, as working directory."""
    monkeypatch.chdir(project(tmp_path))
    return tmp_path


def test_result_is_the_one_json_document_on_stdout_and_words_go_to_stderr(here: Path) -> None:
    done = tuvl("run", "workflows/greet.yaml", "--set", "name=Ann", cwd=here)
    assert done.returncode == 0
    assert list(result(done)) == [
        *("run_id", "workflow", "schema_version", "status", "signal", "output", "context", "error", "usage"),
        *("steps", "duration_ms"),
    ]
    assert result(done)["output"] == "Hello Ann"
    assert re.fullmatch(
        r"tuvl: compose \(Functional\) → default · .*\ntuvl: completed on 'default' · .*\n", done.stderr
    )


def test_workflow_may_be_named_from_anywhere_below_the_project(here: Path) -> None:
    done = tuvl("run", "greet", "--set", "name=Ann", "--events", "none", cwd=here / "llms")
    assert (done.returncode, done.stderr, result(done)["output"]) == (0, "", "Hello Ann")


def test_input_comes_from_stdin_and_set_goes_over_it(here: Path) -> None:
    done = tuvl("run", "greet", "--input", "-", "--set", "times=2", cwd=here, stdin="name: Zoë\ntimes: 1\n")
    assert result(done)["context"] == {"name": "Zoë", "times": 2, "greeting": "Hello Zoë"}


def test_result_is_utf_8_whatever_the_locale(here: Path) -> None:
    environ = environment(LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
    done = tuvl("run", "greet", "--input", "-", cwd=here, stdin="name: Zoë", environ=environ)
    assert "Hello Zoë" in done.stdout
    assert "→" not in done.stderr


def test_failed_run_exits_1_with_its_document_and_the_reason(here: Path) -> None:
    done = tuvl("run", "give_up", cwd=here)
    assert done.returncode == 1
    assert result(done)["status"] == "failed"
    assert "The shop is closed." in result(done)["error"]["message"]
    assert "step 'stop': The shop is closed." in done.stderr


def test_timeout_ends_the_run_as_failed(here: Path) -> None:
    done = tuvl("run", "wait", "--timeout", "0.2", cwd=here)
    assert done.returncode == 1
    assert result(done)["error"]["type"] == "timeout"


def test_jsonl_events_are_all_that_stderr_holds(here: Path) -> None:
    done = tuvl("run", "ask", "--events", "jsonl", cwd=here)
    types = [json.loads(line)["type"] for line in done.stderr.splitlines()]
    assert types[0] == "run_started"
    assert types[-1] == "run_finished"
    assert types.count("run_finished") == 1
    assert {"step_started", "step_finished"} <= set(types)


def test_cost_and_tokens_are_in_the_last_line(here: Path) -> None:
    done = tuvl("run", "ask", cwd=here)
    assert "completed on 'default' · 1 model call · 12 tokens · $0.0000" in done.stderr


def test_model_can_be_replaced_by_another_preset(here: Path) -> None:
    done = tuvl("run", "ask", "--model", "default=other", cwd=here)
    assert result(done)["output"] == "other words"
    assert "cost unknown" in done.stderr


def test_trace_is_there_when_asked_for(here: Path) -> None:
    assert "trace" not in result(tuvl("run", "ask", cwd=here))
    assert result(tuvl("run", "ask", "--trace", cwd=here))["trace"][0]["step"] == "answer"


def test_output_file_gets_the_document_instead_of_stdout(here: Path) -> None:
    done = tuvl("run", "greet", "--set", "name=Ann", "--output", "out.json", cwd=here)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((here / "out.json").read_text(encoding="utf-8"))["output"] == "Hello Ann"
    assert not list(here.glob(".out.json*"))


def test_recorded_run_can_be_replayed(here: Path) -> None:
    recorded = tuvl("run", "ask", "--record", "ask.replay.yaml", cwd=here)
    assert recorded.returncode == 0, recorded.stderr
    write(here, {"llms/models.yaml": SCRIPTED.replace("first words", "changed since")})
    replayed = tuvl("run", "ask", "--replay", "ask.replay.yaml", cwd=here)
    assert replayed.returncode == 0, replayed.stderr
    assert result(replayed)["output"] == "first words"
    assert result(replayed)["usage"] == result(recorded)["usage"]


def test_replay_fails_at_the_first_request_that_differs(here: Path) -> None:
    tuvl("run", "ask", "--record", "ask.replay.yaml", cwd=here)
    write(here, {"workflows/ask.yaml": ASK.replace("Say something.", "Say something else.")})
    error = result(tuvl("run", "ask", "--replay", "ask.replay.yaml", cwd=here))["error"]
    assert (error["type"], error["step"]) == ("replay_mismatch", "answer")


def test_reader_of_stdout_that_leaves_early_is_no_error(here: Path) -> None:
    process = subprocess.Popen(
        command("run", "greet", "--set", "name=Ann"),
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(TIMEOUT_S) == 0
    assert "Broken" not in err
    assert "Traceback" not in err


def test_reader_of_stderr_that_leaves_early_does_not_change_the_run(here: Path) -> None:
    process = subprocess.Popen(
        command("run", "ask"),
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.stdout is not None
    document = json.loads(process.stdout.read())
    process.stdout.close()
    process.wait(TIMEOUT_S)
    assert document["status"] == "completed"


# ---- what does not even start ------------------------------------------------------------------------------------


def test_file_with_errors_is_refused_with_its_findings_and_no_result(here: Path) -> None:
    broken = GOOD_LINE.sub("runer: set", (here / "workflows/greet.yaml").read_text(encoding="utf-8"))
    write(here, {"workflows/broken.yaml": broken.replace("name: greet", "name: broken")})
    done = tuvl("run", "workflows/broken.yaml", "--set", "name=Ann", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "workflows/broken.yaml:" in done.stderr
    assert "TV101 error:" in done.stderr
    assert "'runer'" in done.stderr


GOOD_LINE = re.compile("runner: set")


@pytest.mark.parametrize("text", ["kind: Workflow\nspec: [", "a: &x [*x]", "kind: Workflow\n\tspec: {}\n"])
def test_file_that_is_no_yaml_is_refused_with_the_place(
    here: Path, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    write(here, {"bad.yaml": text})
    assert main(["run", "bad.yaml"]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert re.search(r"^bad\.yaml:\d+:\d+: TV\d+ error: ", captured.err, re.MULTILINE)


def test_warnings_are_counted_and_do_not_stop_a_run(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loose = (here / "workflows/greet.yaml").read_text(encoding="utf-8").replace("default: END", "other: END")
    write(here, {"workflows/greet.yaml": loose})
    assert main(["run", "greet", "--set", "name=Ann"]) == 0
    captured = capfd.readouterr()
    assert json.loads(captured.out)["status"] == "completed"
    assert captured.err.startswith("tuvl run: 1 warning; `tuvl validate workflows/greet.yaml` shows them\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "nowhere.yaml"], "cannot read 'nowhere.yaml': no such file or directory"),
        (["run", "workflows"], "'workflows' is a folder"),
        (["run", "gret"], "did you mean 'greet'?"),
        (["run", "llms/models.yaml"], "holds no `kind: Workflow`"),
        (["run", "greet", "--project", "nowhere"], "--project names 'nowhere', which is no folder"),
        (["run", "greet", "--input", "nowhere.json"], "--input names 'nowhere.json', which does not exist"),
        (["run", "greet", "--input", "list.json"], "is a list; an input is a mapping"),
        (["run", "greet", "--input", "bytes.json"], "bytes.json"),
        (["run", "greet", "--input", "torn.json"], "torn.json"),
        (["run", "greet"], 'required key "name" is missing'),
        (["run", "greet", "--set", "name=Ann", "--set", "times=0"], "times: must be at least 1"),
        (["run", "greet", "--set", "name=Ann", "--set", "nane=x"], "has unknown keys"),
        (["run", "greet", "--set", "name"], "not of the form key=value"),
        (["run", "greet", "--output", "nowhere/out.json"], "there is no folder 'nowhere'"),
        (["run", "greet", "--output", "workflows"], "which is a folder"),
        (["run", "ask", "--record", "nowhere/r.yaml"], "--record names 'nowhere/r.yaml'"),
        (["run", "ask", "--replay", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "ask", "--model", "defualt=other"], "did you mean 'default'?"),
        (["run", "ask", "--model", "default=othr"], "did you mean 'other'?"),
        (["run", "greet", "--model", "default=other"], "which the workflow does not call; it calls none"),
        (["run", "greet", "--principal", "list.json"], "the principal in list.json is a list"),
    ],
)
def test_misuse_is_one_clear_message(
    here: Path, capfd: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    write(here, {"list.json": "[1]", "torn.json": '{"name": '})
    (here / "bytes.json").write_bytes(b'{"name": "\xff"}')
    assert main(argv) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.startswith("tuvl run: ")
    assert "Traceback" not in captured.err


def test_principal_without_the_required_scope_may_not_run(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    guarded = GREET.replace("name: greet,", "name: greet, required_scope: greet.run,")
    write(here, {"workflows/greet.yaml": guarded, "ann.yaml": "id: ann", "bo.yaml": "{id: bo, scopes: [greet.run]}"})
    argv = ["run", "greet", "--set", "name=Ann", "--events", "none", "--principal"]
    assert main([*argv, "ann.yaml"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "it needs the scope 'greet.run'" in captured.err
    assert main([*argv, "bo.yaml"]) == 0


def test_stdout_that_is_closed_from_the_start_is_no_error(here: Path) -> None:
    words = shlex.join(command("run", "greet", "--set", "name=Ann", "--events", "none"))
    done = subprocess.run(["sh", "-c", f"{words} >&-"], cwd=here, env=environment(), stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_file_with_two_workflows_asks_which(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    greet = (here / "workflows/greet.yaml").read_text(encoding="utf-8")
    both = greet.replace("name: greet", "name: one") + "---\n" + greet.replace("name: greet", "name: two")
    write(here, {"workflows/both.yaml": both})
    assert main(["run", "workflows/both.yaml", "--set", "name=Ann"]) == 2
    assert "holds 2 workflows, 'one', 'two'; name one of them" in capfd.readouterr().err
    assert main(["run", "two", "--set", "name=Ann", "--events", "none"]) == 0
    assert json.loads(capfd.readouterr().out)["workflow"] == "two"


def test_workflow_that_is_switched_off_is_not_run(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    greet = (here / "workflows/greet.yaml").read_text(encoding="utf-8")
    write(here, {"workflows/greet.yaml": "enabled: false\n" + greet})
    assert main(["run", "workflows/greet.yaml", "--set", "name=Ann"]) == 2
    assert "switched off by `enabled: false`" in capfd.readouterr().err


# ---- dry run -----------------------------------------------------------------------------------------------------


def test_dry_run_prints_the_plan_and_runs_nothing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(here, {"workflows/call.yaml": CALL, "llms/live.yaml": LIVE})
    assert main(["run", "call", "--dry-run"]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == PLAN


CALL = """\
kind: Workflow
metadata: { name: call, description: Look something up. }
spec:
  input: { type: object, required: [id], properties: { id: { type: string }, note: { type: string } } }
  limits: { max_steps: 5, timeout_s: 60 }
  steps:
    - id: fetch
      kind: APICall
      http: { url: "https://api.example.com/things/{{ id }}", auth: { bearer: "${THINGS_TOKEN}" } }
      response: { output_key: thing }
      routes: { error: END }
    - id: think
      kind: Agent
      mode: autonomous
      agent:
        model: live
        steering: Answer.
        tools:
          - { ref: look, description: Look again., max_calls: 2, parameters: { type: object, properties: {} } }
        max_iterations: 3
        token_budget: 1000
        timeout_s: 30
        retry: { attempts: 2 }
        outcome: { enum: [done] }
      routes: { done: END, max_iterations: END, budget_exceeded: END, error: END, aborted: END }
    - id: look
      kind: APICall
      http: { url: "https://api.example.com/things" }
"""

LIVE = """\
kind: AgentModel
metadata: { name: live }
spec: { provider: openai_compatible, model: m1, api_base: "http://127.0.0.1:9/v1", api_key: "${LIVE_KEY:none}" }
"""

PLAN = """\
Plan of call (v1). Nothing was run or called.

input       id; optional note
limits      max_steps 5, timeout_s 60, max_context_bytes 262,144
entry       fetch

Steps
  fetch  (APICall, read)
    error → END
    default → think
  think  (Agent, write)
    model   live, autonomous, 30 s a call, 2 attempts
    bounds  max_iterations 3, token_budget 1,000, budget_check turn_start, answer_retries 0
    tool    look (APICall, read, at most 2×)
    done, max_iterations, budget_exceeded, error, aborted → END
  look  (APICall, read, only as a tool)

Models
  live  openai_compatible/m1, no price of its own

hosts       api.example.com, 127.0.0.1:9
environment
  THINGS_TOKEN  MISSING  (workflows/call.yaml)
  LIVE_KEY  not set, has a default  (llms/live.yaml)
"""


def test_dry_run_as_json_is_one_document(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ask", "--dry-run", "--format", "json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["entry"] == "answer"
    assert plan["models"] == [
        {
            "name": "default",
            "provider": "scripted",
            "model": None,
            "scripted": True,
            "price": {"input_per_mtok": 2.0, "output_per_mtok": 8.0},
        }
    ]


def test_dry_run_checks_an_input_that_it_is_given(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "greet", "--dry-run", "--set", "nane=Ann"]) == 2
    assert "does not fit" in capfd.readouterr().err


# ---- interrupts --------------------------------------------------------------------------------------------------


def launched(folder: Path, workflow: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("run", workflow, "--events", "jsonl"),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )


def until(process: subprocess.Popen[bytes], sign: bytes) -> None:
    """Read stderr up to a line that holds the sign."""
    assert process.stderr is not None
    seen = b""
    for line in process.stderr:
        if sign in line:
            return
        seen += line
    raise AssertionError(f"{sign!r} never came: {seen!r}")


def begun(step: str) -> bytes:
    """Return what the event of a step's beginning holds, and no other event of it."""
    return b'"step_id":"%s","kind"' % step.encode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_first_interrupt_aborts_gracefully_with_the_result_document(here: Path, number: signal.Signals) -> None:
    process = launched(here, "wait")
    until(process, begun("pause"))
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 4}[number]
    document = json.loads(out)
    assert document["status"] == "aborted"
    assert "interrupted" in document["error"]["message"]
    assert [json.loads(line)["type"] for line in err.splitlines()][-1] == "run_finished"


def test_second_interrupt_ends_at_once_without_a_result(here: Path) -> None:
    tidying = WAIT.replace("{ default: END }", "{ default: END, aborted: tidy }")
    tidying += "    - { id: tidy, kind: Functional, runner: wait, seconds: 3600, routes: { default: END } }\n"
    write(here, {"workflows/wait.yaml": tidying})
    process = launched(here, "wait")
    until(process, begun("pause"))
    process.send_signal(signal.SIGINT)
    until(process, begun("tidy"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_node_that_ignores_an_abort_does_not_hold_back_the_result(here: Path) -> None:
    process = deaf(here)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, json.loads(out)["status"]) == (130, "aborted")


def test_second_interrupt_ends_even_a_node_that_does_not_let_go_of_the_event_loop(here: Path) -> None:
    process = deaf(here, keyword="async def")
    # One signal may still be pending when the next one comes, and two of a kind are then one.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def deaf(folder: Path, *, keyword: str = "def") -> subprocess.Popen[bytes]:
    """Start a run and return once it is inside a node that never listens."""
    write(folder, {"nodes/deaf.py": DEAF.replace("def deaf", f"{keyword} deaf"), "workflows/deaf.yaml": DEAF_FLOW})
    process = launched(folder, "deaf")
    until(process, b"listening to nobody")
    return process


DEAF = '''\
"""A node that never ends and never listens."""

import sys
import time

from tuvl import node


@node("deaf", effects="read")
def deaf(ctx):
    print("listening to nobody", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.01)
'''

DEAF_FLOW = """\
kind: Workflow
metadata: { name: deaf, description: Never ends. }
spec:
  steps:
    - { id: block, kind: Functional, runner: deaf, routes: { default: END } }
"""


def test_modules_of_a_scripted_run_are_few(here: Path) -> None:
    """What a short run imports is most of its time."""
    code = "import sys; from tuvl.__main__ import main; code = main(sys.argv[1:]); print(code, *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "ask", "--events", "none", "--output", "out.json"],
        cwd=here,
        capture_output=True,
        env=environment(),
        timeout=TIMEOUT_S,
        check=True,
    )
    exit_code, *modules = done.stdout.decode().split()
    assert exit_code == "0"
    heavy = {"typer", "click", "rich", "litellm", "openai", "httpx", "argparse", "concurrent.futures.process"}
    assert heavy & {*modules, *(name.partition(".")[0] for name in modules)} == set()
