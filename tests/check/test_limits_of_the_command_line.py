"""A limit that the command line sets belongs to whoever runs the gate: no file under review makes less of it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.check.project_files import write
from tests.cli.cli_support import tuvl
from tuvl.check.finding import Severity
from tuvl.check.runner import check_paths
from tuvl.check.suppressing import can_be_hidden

WORKFLOW = """\
kind: Workflow
# COMMENT
metadata: { name: answer, description: Answer. }
spec:
  limits: { max_tokens: 20000 }
  steps:
    - id: answer
      kind: Agent
      mode: completion
      agent: { model: openai/gpt-4o-2024-11-20, prompt: Answer., max_output_tokens: 500, outcome: { write: reply } }
      routes: { error: END, aborted: END, timeout: END, budget_exceeded: END }
"""
CONFIG = "kind: ProjectConfig\nmetadata: { name: shop }\nspec:\n  checks: { severity: { TV604: CHOICE } }\n"
COMMENT = WORKFLOW.replace("COMMENT", "tuvl: ignore[TV604] trust me")
AT_FIELD = WORKFLOW.replace(
    "max_tokens: 20000 }", "max_tokens: 20000, max_cost_usd: 5 }  # tuvl: ignore[TV604] trust me"
)

WAYS: dict[str, Mapping[str, str]] = {
    "a comment": {"workflows/a.yaml": COMMENT},
    "a comment at the limit": {"workflows/a.yaml": AT_FIELD},
    "ignored in tuvl.yaml": {"workflows/a.yaml": WORKFLOW, "tuvl.yaml": CONFIG.replace("CHOICE", "ignore")},
    "a note in tuvl.yaml": {"workflows/a.yaml": WORKFLOW, "tuvl.yaml": CONFIG.replace("CHOICE", "note")},
    "ignored in pyproject.toml": {
        "workflows/a.yaml": WORKFLOW,
        "pyproject.toml": '[tool.tuvl.severity]\nTV604 = "ignore"\n',
    },
    "all of them": {
        "workflows/a.yaml": COMMENT,
        "tuvl.yaml": CONFIG.replace("CHOICE", "ignore"),
        "pyproject.toml": '[tool.tuvl.severity]\nTV604 = "warning"\n',
    },
}


@pytest.mark.parametrize("files", WAYS.values(), ids=list(WAYS))
def test_nothing_in_the_files_makes_less_of_a_limit_of_the_command_line(
    files: Mapping[str, str], tmp_path: Path
) -> None:
    report = check_paths([write(tmp_path, files)], project=tmp_path, max_cost_usd=0.001)
    told = [finding for finding in report.findings if finding.code == "TV604"]
    assert [finding.severity for finding in told] == [Severity.ERROR]
    assert told[0].asked
    assert not can_be_hidden(told[0])
    assert report.failed()


@pytest.mark.parametrize("jobs", ["alone", "among many"])
def test_command_ends_with_1_however_many_files_there_are(jobs: str, tmp_path: Path) -> None:
    write(tmp_path, WAYS["all of them"])
    if jobs == "among many":
        others = {f"workflows/w{number}.yaml": WORKFLOW.replace("answer, d", f"w{number}, d") for number in range(25)}
        write(tmp_path, others)
    for _ in range(2):  # the second time it may be a report that was kept
        ended = tuvl("validate", "--max-cost-usd", "0.001", cwd=tmp_path)
        assert ended.returncode == 1
        assert "workflows/a.yaml:3:19: TV604 error: a run of 'answer' may cost" in ended.stdout
    assert tuvl("validate", "--max-cost-usd", "100", cwd=tmp_path).returncode == 0


def test_limit_of_the_file_itself_may_be_accepted_by_a_comment(tmp_path: Path) -> None:
    cheap = AT_FIELD.replace("max_cost_usd: 5", "max_cost_usd: 0.0001")
    write(tmp_path, {"workflows/a.yaml": cheap.replace("  # tuvl: ignore[TV604] trust me", "")})
    assert "TV604" in {finding.code for finding in check_paths([tmp_path], project=tmp_path).findings}
    write(tmp_path, {"workflows/a.yaml": cheap})
    assert "TV604" not in {finding.code for finding in check_paths([tmp_path], project=tmp_path).findings}
