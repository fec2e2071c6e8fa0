"""What a workflow refers to and cannot be found may stand in a broken file: that file is told, and no run begins."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.check.project_files import said, write
from tuvl.__main__ import main
from tuvl.check.runner import check_document, check_paths
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

ASK = """\
kind: Workflow
metadata: { name: ask }
spec:
  steps:
    - id: ask
      kind: Agent
      mode: completion
      agent: { model: d, prompt: "artifact://question", guardrails: { input: ["artifact://short@1"] } }
      routes: { error: END, aborted: END, timeout: END, guardrail_violation: END }
    - { id: sub, kind: Workflow, workflow: other, output_key: found }
    - { id: rows, kind: ModelOp, model: Order, operation: list }
    - { id: call, kind: MCP, mcp: { server: "artifact://desk@1", tool: search } }
  context: Order
"""
OTHER = """\
kind: Workflow
metadata: { name: other }
spec: { steps: [{ id: a, kind: Functional, runner: set, values: { x: 1 } }] }
"""
FIELDS = "fields: [{ name: id, type: integer, primary_key: true }]"
FILES = {
    "workflows/ask.yaml": ASK,
    "workflows/other.yaml": OTHER,
    "llms/d.yaml": "kind: AgentModel\nmetadata: { name: d }\nspec: { provider: scripted, replies: [hello] }\n",
    "artifacts/question.md": "---\nname: question\ntype: prompt\n---\nWhat?\n",
    "artifacts/short.yaml": "kind: Artifact\nmetadata: { name: short }\n"
    "spec: { type: guardrail, checks: [{ check: max_chars, limit: 10 }] }\n",
    "artifacts/desk.yaml": "kind: Artifact\nmetadata: { name: desk }\n"
    "spec: { type: mcp, transport: http, url: https://desk.example/mcp }\n",
    "models/order.yaml": "kind: ModelDefinition\nmetadata: { name: Order }\n"
    f"spec: {{ tablename: orders, datasource: shop, {FIELDS} }}\n",
    "datasources/shop.yaml": "kind: DataSource\nmetadata: { name: shop }\n"
    "spec: { type: sqlite, connection: { database: shop.db } }\n",
}
REFERRED = [name for name in FILES if name != "workflows/ask.yaml"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write(tmp_path, FILES))
    return tmp_path


def errors() -> list[str]:
    report = check_paths([Path("workflows/ask.yaml")])
    return [f"{finding.file} {finding.code}" for finding in report.findings if finding.severity == "error"]


def test_sound_project_has_no_errors(project: Path) -> None:
    assert errors() == []


def break_yaml(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    # Inside of the front matter, where there is one.
    broken = text.replace("name:", 'odd: "never closed\nname:', 1) if path.suffix == ".md" else f"{text}[\n"
    path.write_text(broken, encoding="utf-8")
    return "TV001"


def break_bytes(path: Path) -> str:
    path.write_bytes(b"# \xff\n" + path.read_bytes() if path.suffix != ".md" else path.read_bytes() + b"\xff")
    return "TV003"


def break_encoding(path: Path) -> str:
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    return "TV003"


def break_link(path: Path) -> str:
    path.unlink()
    os.symlink("gone", path)
    return "TV003"


@pytest.mark.parametrize("break_it", [break_yaml, break_bytes, break_encoding, break_link])
@pytest.mark.parametrize("name", REFERRED)
def test_broken_file_is_told_and_refuses_the_run(
    project: Path, name: str, break_it: Callable[[Path], str], capfd: pytest.CaptureFixture[str]
) -> None:
    code = break_it(project / name)
    assert f"{name} {code}" in errors()
    assert main(["run", "workflows/ask.yaml"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert name in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", REFERRED)
def test_workflow_that_refers_to_a_broken_file_does_not_compile(project: Path, name: str) -> None:
    break_yaml(project / name)
    index = ProjectIndex(project)
    document = index.workflow("ask")
    assert document is not None
    assert any(finding.severity == "error" for finding in check_document(document, index))
    with pytest.raises(ConfigError):
        compile_workflow(document, index)


@pytest.mark.parametrize(
    ("name", "code"),
    [("llms/d.yaml", "TV206"), ("artifacts/question.md", "TV204"), ("artifacts/desk.yaml", "TV204")],
)
def test_hint_names_the_file_that_may_hide_what_is_not_found(project: Path, name: str, code: str) -> None:
    break_yaml(project / name)
    (finding,) = [one for one in check_paths([Path("workflows/ask.yaml")]).findings if one.code == code]
    assert finding.hint == f"{name!r} has a mistake that may hide it; mend that file first"


@pytest.mark.parametrize("kind", ["AgentModl", "Agents"])
def test_document_of_that_name_under_another_kind_is_told(project: Path, kind: str) -> None:
    (project / "llms/d.yaml").write_text(FILES["llms/d.yaml"].replace("AgentModel", kind))
    assert errors() == ["llms/d.yaml TV104"]
    assert main(["run", "workflows/ask.yaml"]) == 1


def test_artifact_whose_version_is_none_is_told(project: Path) -> None:
    text = FILES["artifacts/short.yaml"].replace("name: short", "name: short, version: one")
    (project / "artifacts/short.yaml").write_text(text)
    assert "artifacts/short.yaml TV102" in errors()


def test_higher_version_in_a_broken_file_is_told_for_a_reference_without_version(project: Path) -> None:
    write(project, {"artifacts/question-2.md": "---\nname: question\nversion: 2\ntype: [\n---\nWhat now?\n"})
    assert errors() == ["artifacts/question-2.md TV001"]


def test_broken_file_that_mentions_nothing_sought_stays_out_of_it(project: Path) -> None:
    write(project, {"workflows/stranger.yaml": "kind: Workflow\nmetadata: { name: stranger\n"})
    assert errors() == []
    (project / "llms/d.yaml").unlink()
    assert errors() == []


def test_broken_file_of_another_tool_stays_out_of_it(project: Path) -> None:
    (project / "llms/d.yaml").unlink()
    write(project, {"chart.yaml": "apiVersion: v1\nkind: Service\nmetadata: { name: d }\nspec: {{ .Values.x }\n"})
    assert errors() == []


def test_workflow_named_to_run_that_stands_in_a_broken_file_is_told(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    break_yaml(project / "workflows/other.yaml")
    assert main(["run", "other"]) == 2
    assert "'workflows/other.yaml' has a mistake that may hide it" in capfd.readouterr().err


def test_versions_of_an_artifact_are_listed_once(project: Path) -> None:
    write(project, {"artifacts/again.md": FILES["artifacts/question.md"]})
    (project / "workflows/ask.yaml").write_text(ASK.replace("artifact://question", "artifact://question@3"))
    (finding,) = [one for one in check_paths([Path("workflows/ask.yaml")]).findings if one.code == "TV204"]
    assert finding.message.endswith("has no version 3; there is 1")


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("provider: scripted", "TV217"),
        ("provider: scripted, script: gone.yaml", "TV217"),
        ("provider: scripted, script: torn.yaml", "TV217"),
        ("provider: scripted, script: word.yaml", "TV217"),
        ("provider: scripted, script: odd.yaml", "TV217"),
        ("provider: scripted, script: good.yaml, replies: [x]", "TV102"),
    ],
)
def test_scripted_model_without_usable_replies_refuses_the_run(project: Path, spec: str, code: str) -> None:
    scripts = {"torn.yaml": "- text: [\n", "word.yaml": "hello\n", "odd.yaml": "- { txet: x }\n", "good.yaml": "- x\n"}
    write(project / "llms", scripts)
    (project / "llms/d.yaml").write_text(f"kind: AgentModel\nmetadata: {{ name: d }}\nspec: {{ {spec} }}\n")
    assert errors() == [f"llms/d.yaml {code}"]
    assert main(["run", "workflows/ask.yaml"]) == 1
    index = ProjectIndex(project)
    document = index.workflow("ask")
    assert document is not None
    with pytest.raises(ConfigError):
        compile_workflow(document, index)


def test_scripted_model_with_a_sound_script_has_nothing_to_find(project: Path) -> None:
    write(project / "llms", {"good.json": '{"replies": ["a", {"text": "b"}]}'})
    write(project, {"llms/d.yaml": FILES["llms/d.yaml"].replace("replies: [hello]", "script: good.json")})
    assert errors() == []


MISTAKES = {
    "field twice": (FIELDS, "fields: [{ name: id, type: integer, primary_key: true }, { name: id, type: text }]"),
    "default": (FIELDS, "fields: [{ name: id, type: uuid, primary_key: true, default: x }]"),
    "source": ("datasource: shop", "datasource: shoop"),
    "relation": (FIELDS, f"{FIELDS}, relations: [{{ name: r, model: Nope, foreign_key: id }}]"),
    "relation like a field": (FIELDS, f"{FIELDS}, relations: [{{ name: id, model: Order, foreign_key: id }}]"),
    "foreign key": (FIELDS, f"{FIELDS}, relations: [{{ name: r, model: Order, foreign_key: gone }}]"),
}


@pytest.mark.parametrize(("old", "new"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_of_a_data_model_is_found_without_a_run(project: Path, old: str, new: str) -> None:
    write(project, {"models/order.yaml": FILES["models/order.yaml"].replace(old, new)})
    assert errors() == ["models/order.yaml TV216"]
    assert main(["run", "workflows/ask.yaml"]) == 1


def test_enum_without_values_is_found_without_a_run(project: Path) -> None:
    text = FILES["models/order.yaml"].replace("type: integer", "type: enum")
    write(project, {"models/order.yaml": text})
    assert errors() == ["models/order.yaml TV103"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("operation: list", "operation: read, record_id: 1"),
        ("operation: list", "operation: create, payload: { nmae: x }"),
        ("operation: list", "operation: list, order_by: gone"),
        ("operation: list", "operation: list, include: [gone]"),
        ("context: Order", "context: { models: [{ name: Order, version: v9 }] }"),
    ],
)
def test_what_a_data_model_does_not_have_is_found_without_a_run(project: Path, old: str, new: str) -> None:
    model = FILES["models/order.yaml"].replace(", primary_key: true", "")
    write(project, {"workflows/ask.yaml": ASK.replace(old, new), "models/order.yaml": model})
    assert errors() == ["workflows/ask.yaml TV216"]


def test_redis_keeps_no_records(project: Path) -> None:
    write(project, {"datasources/shop.yaml": FILES["datasources/shop.yaml"].replace("sqlite", "redis")})
    assert "models/order.yaml TV216" in errors()
    assert said(check_paths([Path("models/order.yaml")])) != []
