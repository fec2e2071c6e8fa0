"""TV803 to TV805 speak when a project is shipped, and only then."""

from contextlib import chdir
from pathlib import Path

import pytest

from tests.check.golden import project_of
from tests.check.project_files import write
from tuvl.__main__ import main
from tuvl.check.finding import Severity
from tuvl.check.runner import check_paths
from tuvl.check.selection import select_codes
from tuvl.check.shipped import SHIP_RULES, ship_findings
from tuvl.errors import UsageError
from tuvl.locking.lock_file import LOCK_NAME, write_lock
from tuvl.locking.take import take_lock
from tuvl.project.index import ProjectIndex

WORKFLOW = """\
kind: Workflow
metadata: { name: NAME }
spec:
  steps:
    - id: greet
      kind: Agent
      mode: completion
      agent: { model: small, prompt: Greet., outcome: { write: greeting } }
"""
SCRIPTED = "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: scripted, replies: [Hello.] }\n"
PRICED = "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: openai, model: gpt-4.1-2025-04-14 }\n"


def shop(root: Path, **files: str) -> ProjectIndex:
    write(root, {"workflows/greet.yaml": WORKFLOW.replace("NAME", "greet"), "llms/small.yaml": SCRIPTED, **files})
    return ProjectIndex(root)


def lock(root: Path) -> None:
    write_lock(root, take_lock(ProjectIndex(root), mcp_tools={}))


def codes(findings) -> list[str]:
    return [finding.code for finding in findings]


@pytest.mark.parametrize("rule", SHIP_RULES, ids=lambda rule: rule.code)
def test_validate_leaves_the_checks_of_ship_out(rule, tmp_path: Path) -> None:
    index = project_of(rule.code, "bad", tmp_path)
    assert rule.code in codes(ship_findings(index))
    assert rule.code not in codes(check_paths([index.root], project=index.root).findings)


def test_the_checks_of_ship_are_three() -> None:
    assert [rule.code for rule in SHIP_RULES] == ["TV803", "TV804", "TV805"]


def test_missing_lock_is_a_warning_at_the_place_where_it_would_be(tmp_path: Path) -> None:
    (finding,) = [each for each in ship_findings(shop(tmp_path)) if each.code == "TV803"]
    assert (finding.severity, Path(finding.file)) == (Severity.WARNING, tmp_path / LOCK_NAME)


def test_damaged_lock_is_an_error(tmp_path: Path) -> None:
    index = shop(tmp_path)
    (tmp_path / LOCK_NAME).write_text("<<<<<<< ours\n", encoding="utf-8")
    (finding,) = [each for each in ship_findings(index) if each.code == "TV803"]
    assert finding.severity is Severity.ERROR
    assert "merge" in finding.message


def test_drift_is_told_at_the_line_that_changed_in_a_file_of_several_documents(tmp_path: Path) -> None:
    two = PRICED + "---\n" + PRICED.replace("small", "large")
    shop(tmp_path, **{"llms/small.yaml": two})
    lock(tmp_path)
    index = shop(
        tmp_path,
        **{
            "llms/small.yaml": two.replace(
                "name: large }\nspec: { provider: openai, ", "name: large }\nspec: { provider: openai, temperature: 1, "
            )
        },
    )
    with chdir(tmp_path):
        (finding,) = ship_findings(ProjectIndex(Path()))
    assert (finding.code, finding.file, finding.line) == ("TV803", "llms/small.yaml", 7)
    assert finding.message.startswith("preset `large`: temperature is new: 1;")
    assert index.root == tmp_path


def test_locked_project_with_real_models_has_nothing_to_tell(tmp_path: Path) -> None:
    shop(tmp_path, **{"llms/small.yaml": PRICED})
    lock(tmp_path)
    assert ship_findings(ProjectIndex(tmp_path)) == []


def test_strict_makes_errors_of_all_of_them(tmp_path: Path) -> None:
    found = ship_findings(shop(tmp_path), strict=True)
    assert codes(found) == ["TV803", "TV804"]
    assert {finding.severity for finding in found} == {Severity.ERROR}


def test_only_the_models_of_workflows_that_leave_are_looked_at(tmp_path: Path) -> None:
    other = WORKFLOW.replace("NAME", "other").replace("model: small", "model: openai/gpt-4.1-2025-04-14")
    index = shop(tmp_path, **{"workflows/other.yaml": other})
    other_document = index.workflow("other")
    assert other_document is not None
    assert "TV804" in codes(ship_findings(index))
    assert "TV804" not in codes(ship_findings(index, workflows=[other_document]))


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("prompt: Go.", "spec.steps[0].agent"),
        ("model: openai/gpt-4.1-2025-04-14, compaction: { model: default }", "spec.steps[0].agent.compaction.model"),
        (
            "model: openai/gpt-4.1-2025-04-14, guardrails: { output: ['artifact://judge@1'] }",
            "spec.steps[0].agent.guardrails.output[0]",
        ),
    ],
    ids=["default model", "summary", "judge"],
)
def test_scripted_model_is_found_wherever_a_model_may_stand(agent: str, path: str, tmp_path: Path) -> None:
    judge = "spec: { type: guardrail, checks: [{ check: llm_judge, model: default, criteria: Kind? }] }"
    files = {
        "workflows/greet.yaml": WORKFLOW.replace("NAME", "greet").replace("model: small, prompt: Greet.", agent),
        "llms/small.yaml": SCRIPTED.replace("small", "default"),
        "artifacts/judge.yaml": f"kind: Artifact\nmetadata: {{ name: judge }}\n{judge}\n",
    }
    found = [each for each in ship_findings(shop(tmp_path, **files)) if each.code == "TV804"]
    assert [each.path for each in found] == [path]


def test_comment_with_a_reason_hides_a_finding_of_ship_and_is_no_left_over_in_validate(tmp_path: Path) -> None:
    hidden = WORKFLOW.replace("NAME", "greet").replace(
        "      agent:", "      # tuvl: ignore[TV804] this one greets in the demo\n      agent:"
    )
    index = shop(tmp_path, **{"workflows/greet.yaml": hidden})
    assert "TV804" not in codes(ship_findings(index))
    assert "TV006" not in codes(check_paths([tmp_path], project=tmp_path).findings)


def test_project_weighs_findings_of_ship_itself(tmp_path: Path) -> None:
    config = "kind: ProjectConfig\nspec: { checks: { severity: { TV803: error, TV804: ignore } } }\n"
    (finding,) = ship_findings(shop(tmp_path, **{"tuvl.yaml": config}))
    assert (finding.code, finding.severity) == ("TV803", Severity.ERROR)
    assert "TV218" not in codes(check_paths([tmp_path], project=tmp_path).findings)


def test_selecting_only_checks_of_ship_is_refused_as_nothing_would_be_checked() -> None:
    with pytest.raises(UsageError, match="`tuvl ship`"):
        select_codes(["TV803"])
    assert "TV803" in select_codes(["TV8"]).codes


def test_explain_says_when_they_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "lock-drift"]) == 0
    assert "TV803 lock-drift (warning, checked by `tuvl ship`)" in capsys.readouterr().out
