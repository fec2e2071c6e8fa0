"""Two enabled documents of one key are refused by whoever uses one of them, whichever file was named."""

import json
from pathlib import Path

import pytest

from tests.check.project_files import write
from tests.cli.cli_support import tuvl
from tuvl.check.runner import check_paths
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.project.twins import twins

SET = "[{ id: s, kind: Functional, runner: set, values: { r: %s } }]"


def flow(name: str, steps: str, **head: str) -> str:
    fields = "".join(f", {key}: {value}" for key, value in head.items())
    return f"kind: Workflow\nmetadata: {{ name: {name}{fields} }}\nspec: {{ context: Order, steps: {steps} }}\n"


def agent(guard: str = "") -> str:
    guardrails = f", guardrails: {{ output: ['artifact://{guard}@1'] }}" if guard else ""
    return (
        "[{ id: a, kind: Agent, mode: completion, agent: { model: m, prompt: Hi."
        f"{guardrails} }}, routes: {{ error: END, timeout: END, guardrail_violation: END }} }}]"
    )


def preset(reply: str) -> str:
    return json.dumps(
        {"kind": "AgentModel", "metadata": {"name": "m"}, "spec": {"provider": "scripted", "replies": [reply]}}
    )


def table(name: str) -> str:
    fields = "[{ name: id, type: integer, primary_key: true }]"
    return f"kind: ModelDefinition\nmetadata: {{ name: Order }}\nspec: {{ tablename: {name}, fields: {fields} }}\n"


GUARD = "kind: Artifact\nmetadata: { name: g }\nspec: { type: guardrail, checks: [{ check: max_chars, limit: %d }] }\n"
PROSE = "---\nname: p\ntype: prompt\n---\n%s\n"
BASE = {"tuvl.yaml": "kind: ProjectConfig\n", "models/order.yaml": table("orders"), "z.yaml": flow("main", SET % 1)}
READ = "[{ id: r, kind: ModelOp, model: Order, operation: read, record_id: '1', routes: { error: END } }]"
TWICE = {
    "the workflow itself": {"a.yaml": flow("main", SET % 2)},
    "a workflow that it runs": {
        "z.yaml": flow("main", "[{ id: s, kind: Workflow, workflow: inner, routes: { error: END } }]"),
        "a.yaml": flow("inner", SET % 1),
        "b.yaml": flow("inner", SET % 2),
    },
    "a preset": {"z.yaml": flow("main", agent()), "a.yaml": preset("old"), "b.yaml": preset("new")},
    "an artifact": {
        "z.yaml": flow("main", agent("g")),
        "m.yaml": preset("x"),
        "a.yaml": GUARD % 5,
        "b.yaml": GUARD % 500,
    },
    "prose": {
        "z.yaml": flow("main", agent().replace("Hi.", "'artifact://p@1'")),
        "m.yaml": preset("x"),
        "artifacts/a.md": PROSE % "Be kind.",
        "artifacts/b.md": PROSE % "Be rude.",
    },
    "a data model": {"z.yaml": flow("main", READ), "models/other.yaml": table("others")},
}


@pytest.mark.parametrize("files", TWICE.values(), ids=TWICE)
def test_twin_is_an_error_of_the_project_of_the_file_and_of_a_run(tmp_path: Path, files: dict[str, str]) -> None:
    """Fault 19: whichever file came first was used without a word."""
    write(tmp_path, {**BASE, **files})
    whole, alone = (
        [finding for finding in check_paths([path], project=tmp_path).findings if finding.code == "TV107"]
        for path in (tmp_path, tmp_path / "z.yaml")
    )
    assert len(whole) == 1
    assert alone == whole
    index = ProjectIndex(tmp_path)
    document = index.workflow("main")
    assert document is not None
    with pytest.raises(ConfigError, match="is defined twice, first in"):
        compile_workflow(document, index)
    ran = tuvl("run", "z.yaml", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "TV107" in ran.stderr
    counted = tuvl("bounds", "z.yaml", cwd=tmp_path)
    assert (counted.returncode, counted.stdout) == (1, "")


ALONE = {
    "another version": {"a.yaml": flow("main", SET % 2, schema_version="v2")},
    "switched off": {"a.yaml": "enabled: false\n" + flow("main", SET % 2)},
    "another kind": {"a.yaml": table("x").replace("name: Order", "name: main")},
    "the name as a text of something else": {"a.yaml": flow("other", SET % "'name: main'")},
}


@pytest.mark.parametrize("files", ALONE.values(), ids=ALONE)
def test_document_of_another_key_is_no_twin(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, {**BASE, **files})
    index = ProjectIndex(tmp_path)
    (document,) = [each for loaded in index.files() for each in loaded.documents if loaded.path.name == "z.yaml"]
    assert [Path(entry.file).name for entry in twins(document, index)] == ["z.yaml"]
    compile_workflow(document, index)
