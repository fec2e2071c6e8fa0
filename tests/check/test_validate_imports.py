"""What the quick commands may import: their speed is a promise, and an import is how it is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.project_files import write

WORKFLOW = """\
kind: Workflow
metadata: { name: triage }
spec:
  input:
    type: object
    properties: { ticket_id: { type: string, pattern: "^T-[0-9]+$" }, text: { type: string } }
    required: [ticket_id, text]
  steps:
    - id: load
      kind: APICall
      http: { url: "https://shop.example/orders/{{ ticket_id }}", query: { q: "{{ text }}" } }
      response: { output_key: order }
    - id: answer
      kind: Agent
      mode: completion
      agent: { model: default, prompt: "artifact://ask@1", outcome: { write: reply } }
      routes: { error: END, aborted: END, timeout: END }
    - { id: note, kind: Functional, runner: keep_note, params: { order: "{{ order.id }}" } }
"""
FILES = {
    "tuvl.yaml": "kind: ProjectConfig\n",
    "workflows/triage.yaml": WORKFLOW,
    "llms/default.yaml": "kind: AgentModel\nmetadata: { name: default }\nspec: { provider: openai, model: m }\n",
    "artifacts/ask.md": "---\nname: ask\ntype: prompt\ntemplate: true\n---\nAnswer {{ text }}.\n",
    "nodes/notes.py": 'import asyncio\nfrom tuvl import node\n@node("keep_note")\ndef keep_note(ctx): return {}\n',
}

HEAVY = {
    "asyncio",
    "click",
    "concurrent",
    "email",
    "http",
    "httpcore",
    "httpx",
    "jinja2",
    "jsonschema_rs",
    "litellm",
    "logging",
    "multiprocessing",
    "openai",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "re2",
    "rich",
    "sqlalchemy",
    "structlog",
    "ssl",
    "subprocess",
    "tempfile",
    "typer",
}
LAYERS_FOR_RUNNING = ("tuvl.agent", "tuvl.engine", "tuvl.llm", "tuvl.plan", "tuvl.runtime", "tuvl.steps")

PROBE = """
import json, sys
from tuvl.__main__ import main
code = main(json.loads(sys.argv[1]))
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def modules_after(folder: Path, *words: str) -> tuple[int, set[str]]:
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(words)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    code, modules = json.loads(ended.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, FILES)


@pytest.mark.parametrize("words", [["validate", "workflows/triage.yaml"], ["validate"], ["validate", "--format=json"]])
def test_validate_imports_nothing_that_an_ordinary_check_does_not_need(project: Path, words: list[str]) -> None:
    code, modules = modules_after(project, *words)
    assert code == 0
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert [name for name in modules if name.startswith(LAYERS_FOR_RUNNING)] == []


def test_a_report_that_is_kept_is_told_without_the_checks(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("kept")))
    more = {f"workflows/more{n}.yaml": WORKFLOW.replace("name: triage", f"name: more{n}") for n in range(20)}
    write(project, more)
    code, modules = modules_after(project, "validate")
    assert (code, "tuvl.check.rules" in modules) == (0, True)
    code, modules = modules_after(project, "validate")
    assert code == 0
    assert {name for name in modules if name.startswith(("yaml", "tuvl.check.rules", "tuvl.analysis"))} == set()


def test_patterns_of_a_guardrail_are_tried_on_the_engine_that_will_run_them(project: Path) -> None:
    """The one case in which `validate` loads that engine: there is a pattern to try."""
    check = "{ check: regex_deny, patterns: ['a(?=b)'] }"
    guardrail = f"kind: Artifact\nmetadata: {{ name: g }}\nspec: {{ type: guardrail, checks: [{check}] }}\n"
    write(project, {"artifacts/g.yaml": guardrail})
    code, modules = modules_after(project, "validate")
    assert code == 1
    assert "re2" in modules


def test_version_imports_next_to_nothing(project: Path) -> None:
    code, modules = modules_after(project, "--version")
    assert code == 0
    assert {name for name in modules if name.startswith("tuvl.")} <= {
        "tuvl.__main__",
        "tuvl.cli",
        "tuvl.cli.streams",
        "tuvl.interrupted",
        "tuvl.node",
    }
    assert {"yaml", "pathlib", "typer"} & modules == set()


def test_explain_imports_neither_typer_nor_an_engine(project: Path) -> None:
    code, modules = modules_after(project, "explain", "TV101")
    assert code == 0
    assert {name.split(".")[0] for name in modules} & HEAVY == set()


def test_version_is_one_line(project: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tuvl", "--version"], cwd=project, capture_output=True, encoding="utf-8", check=True
    )
    assert ended.stdout.startswith("tuvl ")
    assert ended.stdout.count("\n") == 1
