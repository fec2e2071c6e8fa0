"""The real command line in a process of its own, and small projects to run."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import warm

TIMEOUT_S = 60


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "tuvl", *argv]


def environment(**changes: str) -> dict[str, str]:
    """Return an environment in which nothing of the developer's own shows."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUVL_", "OTEL_"))}
    kept.pop("NO_COLOR", None)
    return {**kept, "PYTHONWARNINGS": "error", **changes}


def tuvl(
    *argv: str, cwd: Path, stdin: str | bytes | None = None, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a process that has its imports behind it where that makes no odds."""
    usual = environment()
    environ = usual if environ is None else environ
    if not warm.fits(environ, usual):
        return fresh_tuvl(*argv, cwd=cwd, stdin=stdin, environ=environ)
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return _text(warm.run(argv, cwd=cwd, environ=environ, usual=usual, given=given, timeout_s=TIMEOUT_S))


def fresh_tuvl(
    *argv: str, cwd: Path, stdin: str | bytes | None = None, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a process that imports everything for itself."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        command(*argv),
        cwd=cwd,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        env=dict(environ or environment()),
        timeout=TIMEOUT_S,
    )
    return _text(done)


def _text(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one JSON document on stdout."""
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


GREET = """\
kind: Workflow
metadata: { name: greet, description: Greet somebody. }
spec:
  input:
    type: object
    additionalProperties: false
    required: [name]
    properties:
      name: { type: string }
      times: { type: integer, minimum: 1 }
  steps:
    - id: compose
      kind: Functional
      runner: set
      values: { greeting: "Hello {{ name }}" }
      routes: { default: END }
  output: greeting
"""

ASK = """\
kind: Workflow
metadata: { name: ask, description: Ask a model. }
spec:
  steps:
    - id: answer
      kind: Agent
      mode: completion
      agent:
        model: default
        prompt: Say something.
        outcome: { format: text, write: said }
      routes: { default: END, error: END, timeout: END, aborted: END }
  output: said
"""

SCRIPTED = """\
kind: AgentModel
metadata: { name: default }
spec:
  provider: scripted
  replies: [{ text: first words, usage: { input_tokens: 10, output_tokens: 2 } }]
  price: { input_per_mtok: 2, output_per_mtok: 8 }
---
kind: AgentModel
metadata: { name: other }
spec: { provider: scripted, replies: [{ text: other words, usage: { input_tokens: 10, output_tokens: 2 } }] }
"""

FAIL = """\
kind: Workflow
metadata: { name: give_up, description: Fail with a reason. }
spec:
  steps:
    - { id: stop, kind: Functional, runner: fail, message: The shop is closed. }
"""

WAIT = """\
kind: Workflow
metadata: { name: wait, description: Wait for a long time. }
spec:
  steps:
    - { id: pause, kind: Functional, runner: wait, seconds: 3600, routes: { default: END } }
"""


def project(folder: Path) -> Path:
    """Write a project with a workflow for each way a run can go."""
    return write(
        folder,
        {
            "tuvl.yaml": "kind: ProjectConfig\nmetadata: { name: p }\n",
            "workflows/greet.yaml": GREET,
            "workflows/ask.yaml": ASK,
            "workflows/give_up.yaml": FAIL,
            "workflows/wait.yaml": WAIT,
            "llms/models.yaml": SCRIPTED,
        },
    )
