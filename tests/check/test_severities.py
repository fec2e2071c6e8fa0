"""Severities that a project sets for itself."""

from pathlib import Path

import pytest

from tests.check.project_files import said, workflow, write
from tuvl.check.finding import Report, Severity
from tuvl.check.runner import check_paths, report_on
from tuvl.project.index import ProjectIndex

CONFIG = "kind: ProjectConfig\nspec: { checks: { severity: { CODES } } }\n"


def check(folder: Path, codes: str = "", pyproject: str | None = None, text: str | None = None) -> Report:
    config = CONFIG.replace("CODES", codes) if codes else "kind: ProjectConfig\n"
    files = {"tuvl.yaml": config, "w.yaml": text or workflow().replace("Hello", "yes")}
    if pyproject is not None:
        files["pyproject.toml"] = pyproject
    return check_paths([write(folder, files)], project=folder)


def severities(report: Report) -> dict[str, str]:
    return {finding.code: finding.severity.value for finding in report.findings}


@pytest.mark.parametrize("choice", ["error", "warning", "note"])
def test_check_weighs_what_the_project_says(tmp_path: Path, choice: str) -> None:
    assert severities(check(tmp_path, f"TV007: {choice}")) == {"TV007": choice}


def test_ignored_check_says_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, "TV007: ignore").findings == ()


def test_pyproject_says_the_same_and_tuvl_yaml_wins(tmp_path: Path) -> None:
    table = '[tool.tuvl.severity]\nTV007 = "error"\n'
    assert severities(check(tmp_path, pyproject=table)) == {"TV007": "error"}
    assert severities(check(tmp_path, "TV007: note", pyproject=table)) == {"TV007": "note"}


def test_only_the_file_in_the_root_of_the_project_counts(tmp_path: Path) -> None:
    write(tmp_path, {"sub/pyproject.toml": '[tool.tuvl.severity]\nTV007 = "error"\n'})
    assert severities(check(tmp_path)) == {"TV007": "warning"}


def test_run_is_refused_for_what_the_project_made_an_error(tmp_path: Path) -> None:
    check(tmp_path, "TV007: error")
    index = ProjectIndex(tmp_path)
    document = index.workflow("greet")
    assert document is not None
    assert report_on(document, index).failed()


@pytest.mark.parametrize("choice", ["warning", "note", "ignore"])
def test_errors_that_keep_a_workflow_from_running_cannot_be_lowered(tmp_path: Path, choice: str) -> None:
    broken = workflow().replace("values", "valeus")
    report = check(tmp_path, f"TV101: {choice}, TV304: {choice}", text=broken)
    assert severities(report) == {"TV101": "error", "TV103": "error", "TV218": "error"}
    told = [finding.message for finding in report.findings if finding.code == "TV218"]
    assert told == [
        "TV101 unknown-field is an error that cannot be lowered",
        "TV304 no-way-out is an error that cannot be lowered",
    ]


def test_unknown_code_is_found_at_its_line(tmp_path: Path) -> None:
    report = check(tmp_path, pyproject='[tool.other]\nTV999X = 1\n\n[tool.tuvl.severity]\nTV0007 = "note"\n')
    (found,) = [finding for finding in report.findings if finding.code == "TV218"]
    assert (found.line, found.column, found.end_column) == (5, 1, 7)
    assert found.message == "there is no check 'TV0007'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.tuvl\n", "the severities of this project are unknown: it is no TOML"),
        ("[tool]\ntuvl = 1\n", "`tool.tuvl` is no table"),
        ("[tool.tuvl]\nseverty = {}\n", "`tool.tuvl` has no key 'severty'"),
        ("[tool.tuvl]\nseverity = 1\n", "`tool.tuvl.severity` is no table"),
        ('[tool.tuvl.severity]\nTV007 = "off"\n', "the severity of TV007 cannot be 'off'"),
        ("[tool.tuvl.severity]\nTV007 = 3\n", "the severity of TV007 cannot be 3"),
        ('[tool.tuvl.severity]\nTV203 = "note"\n', "TV203 outcome-unrouted is an error that cannot be lowered"),
    ],
)
def test_mistakes_of_pyproject_are_findings(tmp_path: Path, text: str, message: str) -> None:
    report = check(tmp_path, pyproject=text)
    (found,) = [finding for finding in report.findings if finding.code == "TV218"]
    assert message in found.message
    assert found.severity is Severity.ERROR


def test_pyproject_without_the_table_is_nothing_of_ours(tmp_path: Path) -> None:
    assert said(check(tmp_path, pyproject='[project]\nname = "tuvl-things"\n', text=workflow())) == []


def test_setting_a_check_of_warnings_below_error_keeps_its_errors(tmp_path: Path) -> None:
    """What a check calls an error for its own reasons stays one in the families that keep a file from running."""
    report = check(tmp_path, "TV218: ignore")
    assert severities(report)["TV218"] == "error"
