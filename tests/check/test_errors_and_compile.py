"""One set of facts: a workflow with errors does not run, one without does."""

from pathlib import Path

import pytest

from tests.check.golden import CASES, project_of
from tuvl.check.rules import AGENT, FLOW, REFERENCES
from tuvl.check.runner import check_document
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document

OF_NO_WORKFLOW = {"TV214", "TV218", "TV222"}
"""Checks of variables that are unset here, of how findings weigh, and of scenarios: none says whether one compiles."""

CODES = [rule.code for rule in (*REFERENCES, *FLOW, *AGENT) if rule.code not in OF_NO_WORKFLOW]


@pytest.mark.parametrize("which", ["bad", "good"])
@pytest.mark.parametrize("code", CODES)
def test_workflow_begins_to_run_exactly_when_its_report_has_no_errors(code: str, which: str, tmp_path: Path) -> None:
    project = project_of(code, which, tmp_path)
    workflows = project.documents("Workflow")
    assert workflows, f"{CASES / code} shows no workflow"
    for document in workflows:
        errors = [finding.message for finding in check_document(document, project) if finding.severity == "error"]
        assert runs(document, project) == (not errors)


def runs(document: Document, project: ProjectIndex) -> bool:
    """Whether a run of a workflow would begin."""
    try:
        return not compile_workflow(document, project).refusals
    except ConfigError:
        return False
