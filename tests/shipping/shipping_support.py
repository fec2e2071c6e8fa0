"""A small project of every part that a bundle may take along, and what has no business in one."""

from pathlib import Path

from tests.cli.cli_support import write
from tuvl.project.index import ProjectIndex
from tuvl.shipping.assemble import assemble
from tuvl.shipping.contents import collect
from tuvl.shipping.release import Release

CONFIG = """\
kind: ProjectConfig
metadata: { name: price-desk, version: 1.4.0 }
spec: { default_model: cheap }
"""

PRICE = """\
kind: Workflow
metadata: { name: price_order, description: Price an order. }
spec:
  input:
    type: object
    required: [items]
    properties: { items: { type: array, items: { type: integer } } }
  limits: { timeout_s: 30, max_steps: 5 }
  steps:
    - { id: price, kind: Functional, runner: price_order, routes: { default: END } }
  output: total
"""

ASK = """\
kind: Workflow
metadata: { name: ask_daily, description: Ask a model every day. }
spec:
  trigger: { schedule: "30 6 * * 5-7" }
  limits: { timeout_s: 60 }
  steps:
    - id: ask
      kind: Agent
      mode: completion
      agent:
        model: careful
        prompt: artifact://daily@1
        timeout_s: 20
        max_output_tokens: 100
        outcome: { format: text, write: said }
      routes: { default: END, error: END, timeout: END, aborted: END }
"""

MODELS = """\
kind: AgentModel
metadata: { name: cheap }
spec: { provider: scripted, script: scripts/cheap.yaml }
---
kind: AgentModel
metadata: { name: careful }
spec:
  provider: openai_compatible
  model: small-2026-01-01
  api_base: "${API_BASE:https://models.example.com}"
  api_key: "${MODEL_KEY}"
"""

PROMPT = "---\nname: daily\ntype: prompt\nversion: {version}\n---\nSay what day it is.\n"

NODES = """\
from helpers import SUM

from tuvl import node


@node("price_order", reads=["items"], writes=["total"], signals=["default"], effects="read")
def price_order(ctx):
    return {"total": SUM(ctx["items"])}
"""

SCENARIO = """\
kind: WorkflowTest
metadata: { name: three_items }
spec:
  workflow: price_order
  input: { items: [1, 2, 3] }
  expect: { output: 6 }
"""

UNUSED = """\
kind: AgentModel
metadata: { name: other }
spec: { provider: scripted, replies: [{ text: x }] }
"""

NEEDED = {
    "tuvl.yaml": CONFIG,
    "workflows/price.yaml": PRICE,
    "workflows/ask.yaml": ASK,
    "llms/models.yaml": MODELS,
    "llms/scripts/cheap.yaml": "- { text: hello }\n",
    "artifacts/daily.md": PROMPT.format(version=1),
    "nodes/prices.py": NODES,
    "nodes/helpers.py": "SUM = sum\n",
}
NOT_NEEDED = {
    "artifacts/daily-old.md": PROMPT.format(version=2),
    "llms/other.yaml": UNUSED,
    "tests/price.yaml": SCENARIO,
    ".env": "MODEL_KEY=hush-hush-hush\n",
    ".tuvl/runs.db": "records",
    "nodes/.hidden.py": "x = 1\n",
    "nodes/__pycache__/prices.py": "x = 1\n",
    "README.md": "# Prices\n",
    "notes.txt": "not for others\n",
}


def price_desk(folder: Path) -> Path:
    """Write the project."""
    return write(folder, {**NEEDED, **NOT_NEEDED})


def release_of(folder: Path, *, image: str | None = None, include: tuple[str, ...] = ()) -> Release:
    """Assemble the release of a project."""
    project = ProjectIndex(folder)
    return assemble(project, collect(project, include), image=image)
