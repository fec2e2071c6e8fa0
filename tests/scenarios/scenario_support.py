"""A small project with an agent, an API and a node that leaves a mark, and scenarios of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.cli_support import write
from tuvl.__main__ import main

WORKFLOW = """\
kind: Workflow
metadata: { name: ticket }
spec:
  limits: { max_steps: 10, timeout_s: 60, max_tokens: 9000 }
  steps:
    - id: load
      kind: APICall
      http: { url: "http://127.0.0.1:9/orders", timeout: 5 }
      response: { output_key: order }
      routes: { default: agent, error: give_up }
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: default
        steering: Decide.
        tools:
          - ref: mark
            description: Leave a mark.
            parameters:
              { type: object, additionalProperties: false, required: [text], properties: { text: { type: string } } }
            writes_context: true
        max_iterations: 3
        outcome: { enum: [done, unsure], write: answer }
      routes: { done: END, unsure: again, max_iterations: give_up, error: give_up, budget_exceeded: give_up }
    - id: again
      kind: Functional
      runner: set
      values: { retried: true }
      routes: { default: END }
    - id: give_up
      kind: Functional
      runner: fail
      message: Nobody could help.
    - id: mark
      kind: Functional
      runner: mark
      params: { text: "{{ args.text }}" }
"""
NODE = '''\
"""A node that writes outside."""

from pathlib import Path

from tuvl import node


@node("mark", writes=["marks"], signals=["default"], effects="write")
def mark(ctx):
    print("a node prints")
    Path(__file__).with_name("marked.txt").write_text(ctx.params["text"])
    return {"marks": {"last": ctx.params["text"], "all": [1, 2]}}
'''
LIVE = """\
kind: AgentModel
metadata: { name: default }
spec:
  provider: openai_compatible
  model: m
  api_base: "http://127.0.0.1:9/v1"
  price: { input_per_mtok: 1, output_per_mtok: 1 }
"""
HEAD = "kind: WorkflowTest\nmetadata: { name: %s }\nspec:\n  workflow: ticket\n"
REPLIES = """\
  models:
    default:
      replies:
        - tool_calls: [{ name: mark, arguments: { text: hi } }]
        - { json: { outcome: done, result: fine }, usage: { input_tokens: 1000000, output_tokens: 0 } }
"""
STUBS = """\
  stubs:
    load: { delta: { order: { id: 1 } } }
    mark: { delta: { marks: { last: hi, all: [1, 2] } } }
"""


def project(folder: Path, **scenarios: str) -> Path:
    """Write the project, each scenario in a file of its name."""
    files = {
        "tuvl.yaml": "kind: ProjectConfig\nmetadata: { name: p }\nspec:\n  http: { allow_hosts: ['127.0.0.1:9'] }\n"
    }
    files |= {"workflows/ticket.yaml": WORKFLOW, "nodes/mark.py": NODE, "llms/default.yaml": LIVE}
    files |= {f"tests/{name}.yaml": HEAD % name + text for name, text in scenarios.items()}
    return write(folder, files)


@dataclass(frozen=True)
class Told:
    """What the command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


class Command:
    """`tuvl test` in a project."""

    def __init__(self, capfd: Any) -> None:
        self._capfd = capfd

    def __call__(self, *words: str) -> Told:
        code = main(["test", *words])
        out, err = self._capfd.readouterr()
        return Told(code, out, err)
