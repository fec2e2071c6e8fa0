"""What a process of `tuvl` owes to its streams, and to whoever waits for its end, whatever the guests in it do."""

import json
import os
import pty
import shlex
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.cli_support import TIMEOUT_S, command, environment, fresh_tuvl, project, result, write

STUBBORN = '''\
"""Nodes that do not stop when they are told to; whoever waits for one, or for its end, has waited long enough soon."""

import asyncio
import sys

from tuvl import node


def let_pass(seconds):
    loop = asyncio.get_running_loop()
    passes = loop.time
    loop.time = lambda: passes() + seconds


@node("stubborn")
async def stubborn(ctx):
    print("listening to nobody", file=sys.stderr, flush=True)
    while True:
        let_pass(ctx.params.get("seconds", 0))
        try:
            await asyncio.sleep(3600)
        except BaseException:
            pass


@node("parent")
async def parent(ctx):
    children = [asyncio.ensure_future(stubborn(ctx)) for _ in range(2)]
    await asyncio.gather(*children)


@node("in_a_pool")
async def in_a_pool(ctx):
    import time

    let_pass(60)
    await asyncio.to_thread(time.sleep, 3600)
'''

LOUD = '''\
"""Nodes that print."""

import ctypes
import os
import subprocess
import sys
from sys import stdout

from tuvl import node

print("at import")


@node("loud")
def loud(ctx):
    print("printed")
    stdout.write("kept\\\\n")
    os.write(1, b"written\\\\n")
    subprocess.run(["echo", "echoed"], check=True)
    ctypes.CDLL(None).printf(b"from C\\\\n")
    return {"said": True}
'''.replace("\\\\n", "\\n")


def flow(name: str, steps: str, *, limits: str = "") -> str:
    return f"kind: Workflow\nmetadata: {{ name: {name}, description: A flow. }}\nspec:\n{limits}  steps:\n" + "".join(
        f"    {line}\n" for line in steps.strip().splitlines()
    )


STEP = "- { id: work, kind: Functional, runner: %s, params: { seconds: 60 }, timeout_s: 60, routes: { error: END } }"

AGENT = """\
- id: think
  kind: Agent
  mode: autonomous
  agent:
    model: caller
    steering: Call it.
    tools:
      - ref: work
        description: Works.
        timeout_s: 60
        on_timeout: report
        parameters: { type: object, properties: {} }
    max_iterations: 4
    outcome: { enum: [done], write: answer }
  routes: { done: END, max_iterations: END, error: END, aborted: END }
- { id: work, kind: Functional, runner: stubborn, params: { seconds: 60 } }
"""

CALLER = """\
kind: AgentModel
metadata: { name: caller }
spec:
  provider: scripted
  replies:
    - { tool_calls: [{ name: work, arguments: {} }] }
    - { text: '{"outcome": "done", "answer": "ok"}' }
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return write(
        project(tmp_path),
        {
            "nodes/stubborn.py": STUBBORN,
            "nodes/loud.py": LOUD,
            "llms/caller.yaml": CALLER,
            "workflows/step.yaml": flow("step", STEP % "stubborn"),
            "workflows/children.yaml": flow("children", STEP % "parent"),
            "workflows/pool.yaml": flow("pool", STEP % "in_a_pool"),
            "workflows/bounded.yaml": flow(
                "bounded", "- { id: work, kind: Functional, runner: stubborn, params: { seconds: 60 } }"
            ),
            "workflows/endless.yaml": flow("endless", "- { id: work, kind: Functional, runner: stubborn }"),
            "workflows/tool.yaml": flow("tool", AGENT),
            "workflows/loud.yaml": flow(
                "loud", "- { id: work, kind: Functional, runner: loud, routes: { default: END } }"
            ),
        },
    )


# ---- guests that do not stop -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "code", "status"),
    [
        (("step",), 0, "completed"),
        (("children",), 0, "completed"),
        (("pool",), 0, "completed"),
        (("bounded", "--timeout", "60"), 1, "failed"),
        (("tool",), 0, "completed"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_guest_that_swallows_its_cancellation_costs_neither_the_result_nor_the_end_of_the_process(
    here: Path, argv: tuple[str, ...], code: int, status: str
) -> None:
    done = fresh_tuvl("run", *argv, cwd=here)
    assert (done.returncode, result(done)["status"]) == (code, status), done.stderr
    assert "Traceback" not in done.stderr
    if argv[0] != "pool":
        assert "was told to stop and goes on; it is left behind" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 4)])
def test_interrupt_ends_a_run_whose_node_swallows_its_cancellation(here: Path, number: int, code: int) -> None:
    process = begun(here, "endless")
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, json.loads(out)["status"]) == (code, "aborted"), err


def test_second_sigterm_ends_the_process_at_once(here: Path) -> None:
    process = begun(here, "endless", "--events", "pretty")
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    assert any(b"stopping" in line for line in iter(process.stderr.readline, b""))
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (143, b"")


def begun(folder: Path, *argv: str) -> subprocess.Popen[bytes]:
    """Start a run and return once its node runs."""
    process = subprocess.Popen(
        command("run", *argv),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stderr is not None
    assert any(b"listening to nobody" in line for line in iter(process.stderr.readline, b""))
    return process


# ---- stdout is for data ------------------------------------------------------------------------------------------


def test_what_nodes_and_their_subprocesses_print_goes_to_stderr_and_stdout_has_the_document_alone(here: Path) -> None:
    done = fresh_tuvl("run", "loud", cwd=here)
    assert (done.returncode, result(done)["context"]) == (0, {"said": True})
    for said in ("at import", "printed", "kept", "written", "echoed", "from C"):
        assert said in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_run_whose_node_prints_works_with_streams_that_are_closed(here: Path, closed: str) -> None:
    done = shell(here, f"run loud --output out.json {closed}")
    assert done.returncode == 0, done.stderr
    assert json.loads((here / "out.json").read_text(encoding="utf-8"))["context"] == {"said": True}
    assert "Traceback" not in done.stderr


def shell(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with redirections."""
    line = f"{shlex.join(command())} {words}"
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S
    )


BAD = "kind: Workflow\nmetadata: { name: bad, description: Bad. }\nspec: { steps: [] }\n"


CLOSED = (">&- 2>&-", ">&-", "2>&-", "2>/dev/full")
ENDINGS = (
    ("validate bad.yaml", 1),
    ("validate workflows/greet.yaml", 0),
    ("--version", 0),
    ("--help", 0),
    ("run greet --set name=Ann", 0),
    ("run give_up", 1),
    ("run greet", 2),
    ("init new", 0),
    ("init workflows --template nope", 2),
    ("explain TV203", 0),
    ("graph greet", 0),
    ("schema Workflow", 0),
    ("runs list", 0),
    ("run greet --set name=Ann --dry-run", 0),
)
"""Commands, and what they exit with."""

CASES = [(*ending, closed) for ending in ENDINGS for closed in CLOSED]
SHORT = [case for at, case in enumerate(CASES) if case[0] == "run give_up" or at % len(CLOSED) in (0, at // 4 % 3 + 1)]
"""All for one command; for each other one both streams closed, and one of the rest in turn."""


@pytest.mark.parametrize(("words", "code", "closed"), CASES if os.environ.get("TUVL_SOAK") else SHORT)
def test_closed_stream_changes_no_exit_code_and_leaves_no_traceback(
    here: Path, words: str, code: int, closed: str
) -> None:
    write(here, {"bad.yaml": BAD})
    done = shell(here, f"{words} {closed}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "--help",
        "run --help",
        "validate bad.yaml",
        "validate workflows/greet.yaml --format json",
        "run greet --set name=Ann",
        "run give_up",
        "run greet --set name=Ann --dry-run",
        "explain",
        "explain TV203",
        "graph greet",
        "schema Workflow",
        "runs list --format json",
    ],
)
def test_stdout_that_is_full_is_one_line_on_stderr_and_exit_1(here: Path, words: str) -> None:
    write(here, {"bad.yaml": BAD})
    done = shell(here, f"{words} >/dev/full")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("tuvl: cannot write to stdout: no space left on device") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_result_that_cannot_be_delivered_comes_with_the_advice_to_use_output(here: Path) -> None:
    done = shell(here, "run greet --set name=Ann >/dev/full")
    assert "use --output FILE to write it to a file" in done.stderr


# ---- events for programs -----------------------------------------------------------------------------------------


def chatty(folder: Path, items: int) -> Path:
    steps = f"""\
- {{ id: make, kind: Functional, runner: many }}
- {{ id: each, kind: ForEach, items: "{{{{ items }}}}", as: item, max_items: {items}, step: note, output_key: noted }}
- {{ id: note, kind: Functional, runner: set, values: {{ noted: 1 }} }}
"""
    node = f'from tuvl import node\n\n\n@node("many")\ndef many(ctx):\n    return {{"items": [0] * {items}}}\n'
    return write(
        folder,
        {
            "nodes/many.py": node,
            "workflows/chatty.yaml": flow("chatty", steps, limits=f"  limits: {{ max_steps: {items + 2} }}\n"),
        },
    )


PATIENT = """
import sys
from tuvl.events import fanout

fanout.Fanout.aclose.__kwdefaults__["timeout_s"] = 2 * TIMEOUT_S
fanout.DRAIN_S = TIMEOUT_S
from tuvl.__main__ import main

sys.exit(main(sys.argv[1:]))
""".replace("TIMEOUT_S", str(TIMEOUT_S))
"""The command, for a reader that may be as late as the machine makes it."""


def test_events_into_a_file_are_all_there_however_many(here: Path) -> None:
    chatty(here, 3000)
    done = shell(here, "run chatty --events jsonl --output out.json 2>events.jsonl")
    assert done.returncode == 0, (here / "events.jsonl").read_text(encoding="utf-8")[-500:]
    events = [json.loads(line) for line in (here / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len(events) > 6000
    assert (events[-1]["type"], events[-1]["dropped"]) == ("run_finished", 0)


def test_reader_of_events_that_is_late_still_gets_all_of_them(here: Path) -> None:
    chatty(here, 3000)
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT, "run", "chatty", "--events", "jsonl"],
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        bufsize=0,
    )
    assert process.stderr is not None
    first = process.stderr.read(10)
    out, err = process.communicate(timeout=TIMEOUT_S)
    events = [json.loads(line) for line in (first + err).decode().splitlines()]
    assert json.loads(out)["status"] == "completed"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "run_finished"


def test_reader_of_events_that_sleeps_for_ever_holds_up_neither_the_run_nor_the_exit(here: Path) -> None:
    chatty(here, 3000)
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            command("run", "chatty", "--events", "jsonl"),
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=writing,
            env=environment(),
            timeout=TIMEOUT_S,
        )
    finally:
        os.close(writing)
        os.close(reading)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")


@pytest.mark.parametrize("events", ["pretty", "none"])
def test_reader_of_progress_that_sleeps_for_ever_holds_up_neither_the_run_nor_the_exit(here: Path, events: str) -> None:
    steps = "\n".join(
        f"- {{ id: s{number}, kind: Functional, runner: log, message: {'x' * 90}, level: warning }}"
        for number in range(900)
    )
    write(here, {"workflows/lines.yaml": flow("lines", steps, limits="  limits: { max_steps: 1000 }\n")})
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            command("run", "lines", "--events", events),
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=writing,
            env=environment(),
            timeout=TIMEOUT_S,
        )
    finally:
        os.close(writing)
        os.close(reading)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")


# ---- where documents go ------------------------------------------------------------------------------------------

ARGV = {
    "run --output": ("run", "ask", "--output"),
    "run --record": ("run", "ask", "--record"),
    "validate --output": ("validate", "bad.yaml", "--output"),
}
HOLDS = {"run --output": '"run_id"', "run --record": "replies:", "validate --output": "bad.yaml:"}


@pytest.mark.parametrize("way", ARGV)
def test_fifo_named_as_output_gets_the_document_and_stays_a_fifo(here: Path, way: str) -> None:
    write(here, {"bad.yaml": BAD})
    pipe = here / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    done = fresh_tuvl(*ARGV[way], "pipe", cwd=here)
    reader.join(TIMEOUT_S)
    assert "Traceback" not in done.stderr
    assert HOLDS[way] in got[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("way", ARGV)
def test_link_named_as_output_stays_a_link_and_its_target_gets_the_document(here: Path, way: str) -> None:
    write(here, {"bad.yaml": BAD, "real/target.txt": "old"})
    (here / "link").symlink_to("real/target.txt")
    fresh_tuvl(*ARGV[way], "link", cwd=here)
    assert (here / "link").is_symlink()
    assert HOLDS[way] in (here / "real/target.txt").read_text(encoding="utf-8")
    assert [path.name for path in (here / "real").iterdir()] == ["target.txt"]


@pytest.mark.parametrize("way", ARGV)
def test_device_named_as_output_gets_the_document_and_stays_a_device(here: Path, way: str) -> None:
    write(here, {"bad.yaml": BAD})
    ours, theirs = pty.openpty()
    got = bytearray()

    def read() -> None:
        while HOLDS[way].encode() not in got:
            got.extend(os.read(ours, 4096))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    device = os.ttyname(theirs)
    done = fresh_tuvl(*ARGV[way], device, cwd=here)
    reader.join(TIMEOUT_S)
    assert "Traceback" not in done.stderr
    assert HOLDS[way].encode() in got
    assert stat.S_ISCHR(os.stat(device).st_mode)
    os.close(theirs)
    os.close(ours)


AT_THE_IMPORT = """
import os, signal, sys


class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("module", ["tuvl.node", "tuvl.__main__", "tuvl.cli.streams", "tuvl.cli.flags", "tuvl.cli.run"])
@pytest.mark.parametrize("script", [True, False], ids=["script", "module"])
def test_interrupt_while_the_command_is_imported_is_130_without_a_word(
    module: str, script: bool, tmp_path: Path
) -> None:
    if script and module == "tuvl.__main__":
        module = "tuvl.cli"
    write(tmp_path, {"sitecustomize.py": AT_THE_IMPORT.format(module=module)})
    started = [str(Path(sys.executable).with_name("tuvl"))] if script else [sys.executable, "-m", "tuvl"]
    done = subprocess.run(
        [*started, "run", "nothing"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_program_that_imports_tuvl_keeps_its_own_way_with_interrupts(tmp_path: Path) -> None:
    code = "import signal, tuvl; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.stdout == "True\n"
