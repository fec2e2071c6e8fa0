"""One set of comments: what they hide keeps nothing from running, and what would is not hidden."""

from pathlib import Path

import pytest

from tests.check.golden import project_of
from tests.check.project_files import workflow, write
from tuvl.check.finding import UNBUILDABLE, Finding, Severity
from tuvl.check.rules import ALL_RULES
from tuvl.check.runner import check_document, check_paths
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

OF_NO_WORKFLOW = {"TV218", "TV222"}
"""Checks of how findings weigh, and of scenarios: neither says whether a workflow runs."""

CODES = [
    rule.code
    for rule in ALL_RULES
    if rule.code >= "TV200" and rule.phase == "validate" and rule.code not in OF_NO_WORKFLOW
]


def errors(project: ProjectIndex) -> list[Finding]:
    found = (finding for document in project.documents("Workflow") for finding in check_document(document, project))
    return [finding for finding in dict.fromkeys(found) if finding.severity is Severity.ERROR]


def all_run(project: ProjectIndex) -> bool:
    try:
        return not any(compile_workflow(document, project).refusals for document in project.documents("Workflow"))
    except ConfigError as error:
        said = str(error)
        assert "tag" not in said, said
        assert "pydantic" not in said, said
        return False


def accept(finding: Finding) -> None:
    """Put a comment above the line of a finding, in its file."""
    path = Path(finding.file)
    lines = path.read_text(encoding="utf-8").split("\n")
    line = lines[finding.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    lines.insert(finding.line - 1, f"{indent}# tuvl: ignore[{finding.code}] it is meant so")
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize("code", CODES)
def test_report_without_errors_runs_with_comments_in_it_too(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = project_of(code, "bad", tmp_path)
    places = sorted({(one.file, one.line, one.code): one for one in errors(project)}.items(), reverse=True)
    for _, finding in places:
        if Path(finding.file).suffix in (".yaml", ".md"):
            accept(finding)
    again = ProjectIndex(project.root)
    left = errors(again)
    assert all_run(again) == (not left), [finding.message for finding in left]
    if code in UNBUILDABLE:
        assert code in {finding.code for finding in left}
    kept = {finding.code for finding in left}
    told = [one.message for one in check_paths([project.root]).findings if one.code == "TV006"]
    assert all(any(f"this error of {each} cannot be hidden" in line for line in told) for each in kept & {code}), told


ACCEPTABLE = ["TV304", "TV306", "TV503", "TV603", "TV605", "TV708", "TV710"]


@pytest.mark.parametrize("code", ACCEPTABLE)
def test_error_that_a_run_can_go_on_in_spite_of_can_be_accepted(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = project_of(code, "bad", tmp_path)
    found = [one for one in errors(project) if one.code == code and not one.final]
    assert found
    for finding in sorted(found, key=lambda one: one.line, reverse=True):
        accept(finding)
    left = [one for one in errors(ProjectIndex(project.root)) if one.code == code and not one.final]
    assert left == []


NOTE = "      # tuvl: ignore[{}] it is meant so\n"
STEPS = {
    "TV703": '    - { id: a, kind: APICall, http: { url: "https://{{ h }}/" }, routes: { error: END } }\n',
    "TV504": "    - { id: a, kind: Functional, runner: set, values: { _x: 1 }, routes: { error: END } }\n",
    "TV306": (
        '    - { id: a, kind: Router, when: [{ if: "{{ true }}", signal: go }, { if: "{{ h }}", signal: b }], '
        "routes: { b: END, default: END, error: END } }\n"
    ),
}
OTHERS = {
    "TV504": "    - { id: a, kind: Functional, runner: n, routes: { error: END } }\n",
    "TV306": (
        '    - { id: a, kind: Router, when: [{ if: "{{ h }}", signal: go }], routes: { default: END, error: END } }\n'
    ),
}
NODE = 'from tuvl import node\n\n\n@node("n", writes=["_x"], effects="read")\ndef n(ctx):\n    return {}\n'


def commented(tmp_path: Path, code: str, step: str) -> list[str]:
    """Codes of what is told of a step under a comment that accepts one of them."""
    text = f"kind: Workflow\nmetadata: {{ name: w }}\nspec:\n  steps:\n{NOTE.format(code)}{step}"
    write(tmp_path, {"w.yaml": text, "nodes/n.py": NODE})
    assert all_run(ProjectIndex(tmp_path)) == (step not in STEPS.values())
    return [finding.code for finding in check_paths([tmp_path], project=tmp_path).findings]


@pytest.mark.parametrize("code", STEPS)
def test_error_of_a_step_that_no_run_comes_past_cannot_be_hidden(code: str, tmp_path: Path) -> None:
    found = commented(tmp_path, code, STEPS[code])
    assert code in found
    assert "TV006" in found


@pytest.mark.parametrize("code", OTHERS)
def test_error_of_a_step_that_some_runs_come_past_can_be_accepted(code: str, tmp_path: Path) -> None:
    found = commented(tmp_path, code, OTHERS[code])
    assert code not in found
    assert "TV006" not in found


INPUT = "  input: { type: object, properties: { a: { type: string } }, required: [a], additionalProperties: false }\n"
UNDEFINED = workflow().replace("  steps:", f"{INPUT}  output: nothing\n  steps:").replace("Hello", '"{{ nowhere }}"')


@pytest.mark.parametrize("code", ["TV501", "TV505", "TV401"])
def test_errors_of_checks_that_mostly_warn_are_not_lowered_by_the_project(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = "    - { id: a, kind: Agent, mode: autonomus, agent: { model: x/y, prompt: hi } }\n"
    config = f"kind: ProjectConfig\nspec: {{ checks: {{ severity: {{ {code}: note }} }} }}\n"
    write(tmp_path, {"tuvl.yaml": config, "w.yaml": UNDEFINED + (agent if code == "TV401" else "")})
    project = ProjectIndex(tmp_path)
    assert code in {finding.code for finding in errors(project)}
    assert not all_run(project)
