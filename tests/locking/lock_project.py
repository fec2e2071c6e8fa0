"""A project with one of everything that is locked, and helpers to change it."""

from pathlib import Path

from tests.check.project_files import write
from tuvl.locking.drift import Drift, drift
from tuvl.locking.lock import Lock
from tuvl.locking.lock_file import parse_lock
from tuvl.locking.take import take_lock
from tuvl.locking.tools import ToolSchema
from tuvl.project.index import ProjectIndex

FILES = {
    "tuvl.yaml": "kind: ProjectConfig\nmetadata: { name: shop }\nspec: { policy: { require_pins: true } }\n",
    "workflows/triage.yaml": """\
kind: Workflow
metadata: { name: triage }
spec:
  steps:
    - id: now
      kind: MCP
      mcp: { server: "artifact://clock@1", tool: get_time, arguments: { tz: UTC } }
      response: { output_key: now }
    - id: price
      kind: Functional
      runner: price_order
    - id: answer
      kind: Agent
      mode: completion
      agent:
        model: main
        system: artifact://voice@2
        prompt: |
          Answer kindly.
          It is {{ now }}.
        outcome: { write: reply }
""",
    "artifacts/voice.md": "---\nname: voice\ntype: prompt\nversion: 2\n---\nBe kind.\nBe brief.\nSign it.\n",
    "artifacts/clock.yaml": """\
kind: Artifact
metadata: { name: clock }
spec: { type: mcp, transport: stdio, command: clock-server, env: { CLOCK_KEY: "${CLOCK_KEY}" } }
""",
    "llms/main.yaml": """\
kind: AgentModel
metadata: { name: main }
spec: { provider: openai, model: gpt-4.1-2025-04-14, api_key: "${OPENAI_API_KEY}", temperature: 0.2 }
""",
    "llms/scripted.yaml": """\
kind: AgentModel
metadata: { name: scripted }
spec: { provider: scripted, script: replies/all.yaml }
""",
    "llms/replies/all.yaml": "- Hello.\n- Good bye.\n",
    "nodes/prices.py": """\
from tuvl import node

@node("price_order", reads=["items"], writes=["total"], effects="read")
def price_order(ctx):
    return {"total": 1}
""",
    "models/order.yaml": """\
kind: ModelDefinition
metadata: { name: Order }
spec: { tablename: orders, datasource: main, fields: [{ name: id, type: integer, primary_key: true }] }
""",
    "datasources/main.yaml": """\
kind: DataSource
metadata: { name: main }
spec: { type: sqlite, connection: 'sqlite:///shop.db' }
""",
}

TIME = ToolSchema(
    description="The time somewhere.",
    input_schema={"type": "object", "properties": {"tz": {"type": "string"}}, "required": []},
)
TOOLS = {"clock@1": {"get_time": TIME}}


def project(root: Path, **files: str) -> ProjectIndex:
    """Write the project, some of its files replaced, and read it anew."""
    write(root, {**FILES, **files})
    return ProjectIndex(root)


def lock_of(root: Path) -> Lock:
    """Lock a project as it is."""
    return take_lock(ProjectIndex(root), mcp_tools=TOOLS)


def changed(root: Path, name: str, old: str, new: str) -> ProjectIndex:
    """Change one file of a project, and read the project anew."""
    path = root / name
    before = path.read_text(encoding="utf-8")
    assert old in before
    path.write_text(before.replace(old, new, 1), encoding="utf-8")
    return ProjectIndex(root)


def drifts(root: Path, lock: Lock) -> tuple[Drift, ...]:
    """Compare a project as it is with a lock."""
    return drift(ProjectIndex(root), lock, mcp_tools=TOOLS)


def words(found: tuple[Drift, ...]) -> list[str]:
    return [each.words for each in found]


def read(text: str) -> Lock:
    return parse_lock(text.encode(), name="tuvl.lock")
