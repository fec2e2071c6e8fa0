"""`policy.require_pins`: what validate refuses is what does not run, whatever a comment or a setting says."""

from pathlib import Path

import pytest

from tests.check.checking import check, of
from tuvl.check.finding import Severity
from tuvl.check.shipped import ship_findings
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

FILES = {
    "tuvl.yaml": "kind: ProjectConfig\nspec:\n  policy: { require_pins: true }\n",
    "artifacts/voice.md": "---\nname: voice\ntype: prompt\n---\nBe kind.\n",
    "llms/small.yaml": "kind: AgentModel\nmetadata: { name: small }\nspec: { provider: scripted, replies: [Hi.] }\n",
    "workflows/w.yaml": """\
        kind: Workflow
        metadata: { name: w }
        spec:
          steps:
            - id: greet
              kind: Agent
              mode: completion
              agent:
                model: small
                system: artifact://voice
                prompt: Hello.
                outcome: { write: reply }
    """,
}


def runs(folder: Path) -> bool:
    """Whether a run would begin; if not, the policy says why."""
    project = ProjectIndex(folder)
    document = project.workflow("w")
    assert document is not None
    refusals = compile_workflow(document, project).refusals
    assert all("require_pins" in refusal for refusal in refusals)
    return not refusals


def test_reference_without_a_version_is_an_error_and_does_not_run(tmp_path: Path) -> None:
    (finding,) = of(check(tmp_path, FILES), "TV801")
    assert finding.severity is Severity.ERROR
    assert "`policy.require_pins` is on" in finding.message
    assert finding.replacement == "artifact://voice@1"
    assert not runs(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("workflows/w.yaml", "artifact://voice", "artifact://voice # tuvl: ignore[TV801] it never changes"),
        ("tuvl.yaml", "spec:", "spec:\n  checks: { severity: { TV801: note } }"),
        ("tuvl.yaml", "spec:", "spec:\n  checks: { severity: { TV801: ignore } }"),
    ],
    ids=["comment", "lowered", "ignored"],
)
def test_no_comment_and_no_setting_makes_less_of_it(name: str, old: str, new: str, tmp_path: Path) -> None:
    report = check(tmp_path, {**FILES, name: FILES[name].replace(old, new)})
    assert [finding.severity for finding in of(report, "TV801")] == [Severity.ERROR]
    assert not runs(tmp_path)


def test_without_the_policy_it_is_a_warning_that_runs_and_may_be_hidden(tmp_path: Path) -> None:
    free = {**FILES, "tuvl.yaml": "kind: ProjectConfig\n"}
    assert [finding.severity for finding in of(check(tmp_path, free), "TV801")] == [Severity.WARNING]
    assert runs(tmp_path)
    hidden = {
        **free,
        "workflows/w.yaml": FILES["workflows/w.yaml"].replace("voice", "voice # tuvl: ignore[TV801] fine"),
    }
    assert of(check(tmp_path, hidden), "TV801") == []


def test_pinned_reference_runs(tmp_path: Path) -> None:
    pinned = {**FILES, "workflows/w.yaml": FILES["workflows/w.yaml"].replace("//voice", "//voice@1")}
    assert of(check(tmp_path, pinned), "TV801") == []
    assert runs(tmp_path)
    assert [finding.code for finding in ship_findings(ProjectIndex(tmp_path))] == ["TV803", "TV804"]
