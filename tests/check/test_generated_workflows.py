"""The gate and the compiler agree on any workflow: without an error it compiles and starts, with one it does not."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from tests.check.generated_workflows import FILES, made, written
from tests.check.project_files import write
from tuvl.check.finding import Severity
from tuvl.check.runner import report_on
from tuvl.errors import ConfigError
from tuvl.plan.model import ExecutionPlan
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("made"), FILES)


def planned(folder: Path, text: str) -> tuple[list[str], ExecutionPlan | str]:
    """The errors of the gate, and the plan, or why there is none."""
    path = folder / "workflows" / "made.yaml"
    path.write_text(text, encoding="utf-8")
    project = ProjectIndex(folder)
    document = project.workflow("made")
    assert document is not None
    report = report_on(document, project)
    errors = [f"{each.code} {each.path}: {each.message}" for each in report.findings if each.severity is Severity.ERROR]
    assert [each for each in errors if each.startswith("TV999")] == []
    try:
        return errors, Engine(project, settings=Settings(), environ={}).plan(document)
    except ConfigError as error:
        return errors, str(error)


@given(data=made())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_workflow_starts_exactly_when_the_gate_finds_no_error(folder: Path, data: dict[str, Any]) -> None:
    errors, plan = planned(folder, written(data))
    event("errors" if errors else "sound")
    if errors:
        assert isinstance(plan, str) or plan.refusals, f"the gate refuses it, and it starts: {errors}"
    else:
        assert isinstance(plan, ExecutionPlan), f"the gate lets it pass, and it does not compile: {plan}"
        assert plan.refusals == (), "the gate lets it pass, and it does not start"


SECRET = "sk-ant-api03-Zq8Xk2Lm9Pv4Rt7Wy1Bc6Dn3Fh5Gj0"
"""Made up for this test."""

PLACES = {
    "a preset": ("llms/default.yaml", "replies: [hello]", f"replies: [hello], api_key: {SECRET}"),
    "a prompt": ("artifacts/ask.md", "Answer", f"Use {SECRET}. Answer"),
    "a guardrail": ("artifacts/clean.yaml", "name: clean", f"name: clean, description: {SECRET}"),
    "the configuration": ("tuvl.yaml", "spec: {", f"metadata: {{ name: p, description: {SECRET} }}\nspec: {{"),
    "the workflow": ("workflows/made.yaml", "name: made", f"name: made, description: {SECRET}"),
    "a data model": ("models/order.yaml", "name: Order", f"name: Order, description: {SECRET}"),
}
USES_ALL = """\
kind: Workflow
metadata: { name: made }
spec:
  context: Order
  steps:
    - { id: list, kind: ModelOp, model: Order, operation: list }
    - id: ask
      kind: Agent
      mode: completion
      agent:
        model: default
        prompt: artifact://ask@1
        guardrails: { input: [artifact://clean@1] }
        outcome: { write: said }
      routes: { error: END, aborted: END, timeout: END, guardrail_block: END }
  input: { type: object, properties: { text: { type: string } }, required: [text] }
"""


@pytest.mark.parametrize(("file", "old", "new"), PLACES.values(), ids=PLACES)
def test_secret_in_the_clear_is_refused_wherever_a_run_would_use_it(
    tmp_path: Path, file: str, old: str, new: str
) -> None:
    write(tmp_path, {**FILES, "workflows/made.yaml": USES_ALL})
    errors, plan = planned(tmp_path, USES_ALL)
    assert (errors, type(plan)) == ([], ExecutionPlan)
    text = {**FILES, "workflows/made.yaml": USES_ALL}[file]
    write(tmp_path, {file: text.replace(old, new)})
    errors, plan = planned(tmp_path, (tmp_path / "workflows" / "made.yaml").read_text(encoding="utf-8"))
    assert [error.split()[0] for error in errors] == ["TV701"]
    assert isinstance(plan, str)
    assert SECRET not in plan


def test_secret_that_a_comment_says_is_none_may_run(tmp_path: Path) -> None:
    comment = "# tuvl: ignore[TV701] a made-up one"
    preset = FILES["llms/default.yaml"].replace("[hello] }", f"[hello], api_key: {SECRET} }} {comment}")
    write(tmp_path, {**FILES, "llms/default.yaml": preset})
    text = USES_ALL.replace("name: made", f"name: made, description: {SECRET}").replace("\nmeta", f"\n{comment}\nmeta")
    errors, plan = planned(tmp_path, text)
    assert errors == []
    assert isinstance(plan, ExecutionPlan), plan
