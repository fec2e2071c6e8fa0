"""A project for hosts: runs that wait for people, for a gate, and for each kind of checkpoint."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.durable.durable_project import Counting, counting
from tests.durable.durable_project import make_project as make_durable_project

FILES = {
    "workflows/pay.yaml": """\
kind: Workflow
metadata: { name: pay, description: Pay after somebody has looked. }
spec:
  input: { type: object, properties: { sum: { type: integer } }, required: [sum] }
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Pay {{ sum }} EUR?", display_context: [sum] }
      human_feedback:
        - { name: verdict, type: choice, choices: [pay, leave] }
      signal_from: verdict
      auth: { required_group: finance }
      routes: { pay: done, leave: END }
    - { id: done, kind: Functional, runner: set, values: { paid: "{{ sum }}" } }
""",
    "workflows/hurry.yaml": """\
kind: Workflow
metadata: { name: hurry, description: Ask and do not wait for ever. }
spec:
  steps:
    - id: sure
      kind: HumanInTheLoop
      ui: { title: "Sure?" }
      human_feedback: [{ name: verdict, type: text }]
      timeout_s: 600
      routes: { default: END, timeout: late }
    - { id: late, kind: Functional, runner: set, values: { late: true } }
""",
    "workflows/gated.yaml": """\
kind: Workflow
metadata: { name: gated, description: Do something before a gate and after it. }
spec:
  input:
    type: object
    properties: { origin: { type: string }, case: { type: string } }
    required: [origin, case]
  steps:
    - id: before
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/before", method: POST, json: {} }
      response: { output_key: before }
    - id: gate
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/gate", timeout: 120 }
      response: { output_key: gate }
    - id: after
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/after", method: POST, json: {} }
      response: { output_key: after }
""",
}


def make_project(folder: Path) -> Path:
    make_durable_project(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Gate:
    """Lets nobody through before it is opened."""

    opened: threading.Event = field(default_factory=threading.Event)
    reached: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released each time somebody comes to the gate."""

    def pass_through(self) -> None:
        self.reached.release()
        self.opened.wait(60)


@contextmanager
def gated(*cases: str) -> Iterator[tuple[str, type[Counting], Gate]]:
    """Serve on a free port, with one gate for these cases; yields the port, what was counted, and the gate."""
    gate = Gate()
    with counting() as (port, counted):
        counted.meanwhile.update({f"/{case}/gate": gate.pass_through for case in cases})
        try:
            yield str(port), counted, gate
        finally:
            gate.opened.set()
