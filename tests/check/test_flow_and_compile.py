"""One set of facts for data flow and security, too: what is an error there does not compile, what is none does."""

from pathlib import Path

import pytest

from tests.check.golden import project_of
from tuvl.check.rules import DATA_FLOW, SECURITY
from tuvl.check.runner import check_document
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document

CODES = [rule.code for rule in (*DATA_FLOW, *SECURITY) if rule.code != "TV711"]
"""TV711 is about an artifact alone."""


@pytest.mark.parametrize("which", ["bad", "good"])
@pytest.mark.parametrize("code", CODES)
def test_workflow_compiles_exactly_when_its_report_has_no_errors(code: str, which: str, tmp_path: Path) -> None:
    project = project_of(code, which, tmp_path)
    documents = project.documents("Workflow")
    assert documents, f"the case of {code} shows no workflow"
    errors = {f.message for document in documents for f in check_document(document, project) if f.severity == "error"}
    assert all(compiles(document, project) for document in documents) == (not errors)


def compiles(document: Document, project: ProjectIndex) -> bool:
    """Whether a plan can be made of a workflow."""
    try:
        compile_workflow(document, project)
    except ConfigError:
        return False
    return True
