"""`tuvl run --approve`: a person on the terminal, or a standing answer."""

import codecs
import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.cli_support import command, environment, result, tuvl, write
from tuvl.cli.approving import question_lines
from tuvl.tools.approval import ApprovalRequest

PAY = """\
kind: Workflow
metadata: { name: pay, description: Pay back. }
spec:
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: default
        steering: Pay back.
        tools: [{ ref: refund, description: Pay back., approval: "{{ args.amount > 100 }}" }]
      routes: { default: END, max_iterations: END }
    - { id: refund, kind: Functional, runner: set, values: { paid: "{{ args.amount }}" } }
"""
MODEL = {
    "kind": "AgentModel",
    "metadata": {"name": "default"},
    "spec": {
        "provider": "scripted",
        "replies": [{"tool_calls": [{"name": "refund", "arguments": {"amount": 120, "to": "Mia"}}]}, {"text": "done"}],
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "tuvl.yaml": "kind: ProjectConfig\n",
            "workflows/pay.yaml": PAY,
            "llms/default.yaml": json.dumps(MODEL),
        },
    )


def told(document: dict) -> str:
    (entry,) = [entry for entry in document["trace"] if entry["type"] == "tool_result"]
    return str(entry["content"])


RUN = ("run", "pay", "--trace")


def test_all_approves_and_says_who(folder: Path) -> None:
    document = result(tuvl(*RUN, "--approve", "all", cwd=folder))
    assert told(document) == '{"paid":120}'
    (entry,) = [entry for entry in document["trace"] if entry["type"] == "tool_result"]
    assert entry["approval"] == {"approved": True, "by": "--approve all"}


def test_none_refuses(folder: Path) -> None:
    document = result(tuvl(*RUN, "--approve", "none", cwd=folder))
    assert json.loads(told(document))["error"]["type"] == "approval_denied"


def test_without_a_terminal_the_default_is_to_refuse(folder: Path) -> None:
    document = result(tuvl(*RUN, cwd=folder))
    assert "nobody can be asked: stdin is no terminal" in told(document)


def test_prompt_without_a_terminal_is_misuse(folder: Path) -> None:
    done = tuvl(*RUN, "--approve", "prompt", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "--approve prompt needs a terminal to ask on, and stdin is no terminal; say all or none instead" in done.stderr
    )


def test_other_words_are_misuse(folder: Path) -> None:
    done = tuvl(*RUN, "--approve", "yes", cwd=folder)
    assert done.returncode == 2
    assert "--approve does not take 'yes'; it takes prompt, all, none" in done.stderr


class Terminal:
    """A run whose stdin and stderr are a terminal; stdout goes to a file."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.output = folder / "result.json"
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [*command(*RUN), "--output", str(self.output), *words],
            cwd=folder,
            env=environment(TERM="xterm", NO_COLOR="1"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a piece may end in the middle of a character

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 30
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            ready, _, _ = select.select([self._master], [], [], 1)
            if ready:
                self.shown += self._decoder.decode(os.read(self._master, 4096))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        os.kill(self._process.pid, 2)

    def end(self) -> tuple[int, dict]:
        code = self._process.wait(30)
        os.close(self._master)
        return code, json.loads(self.output.read_text(encoding="utf-8"))


def test_person_on_the_terminal_sees_tool_arguments_and_reason_and_says_yes(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("Approve? [y/N]")
    assert "Step 'agent' wants to call the tool 'refund' with" in terminal.shown
    assert '"amount": 120' in terminal.shown
    assert "Asked because approval is asked for when {{ args.amount > 100 }}." in terminal.shown
    terminal.type("maybe\n")
    terminal.wait_for("Please answer y or n: ")
    terminal.type("y\n")
    code, document = terminal.end()
    assert (code, told(document)) == (0, '{"paid":120}')
    (entry,) = [entry for entry in document["trace"] if entry["type"] == "tool_result"]
    assert entry["approval"]["by"].endswith("at the terminal")


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"])
def test_no_an_empty_line_and_the_end_of_the_input_refuse(folder: Path, typed: str) -> None:
    terminal = Terminal(folder, "--approve", "prompt")
    terminal.wait_for("Approve? [y/N]")
    terminal.type(typed)
    code, document = terminal.end()
    assert code == 0
    assert json.loads(told(document))["error"]["type"] == "approval_denied"


def test_interrupt_while_a_person_is_asked_ends_the_run_with_its_result(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("Approve? [y/N]")
    terminal.interrupt()
    code, document = terminal.end()
    assert (code, document["status"]) == (130, "aborted")


def test_what_a_model_wrote_cannot_act_on_the_terminal() -> None:
    lines = question_lines(
        ApprovalRequest(
            run_id="r",
            step_id="agent",
            iteration=1,
            tool="refund",
            call_id="c",
            arguments={"note": "\x1b[2J\u202eevil\x9b1m", "zürich": "ok"},
            reason="the tool needs approval",
            requested_by="local",
        )
    )
    text = "".join(lines)
    assert text.isprintable()
    assert "zürich" in text
