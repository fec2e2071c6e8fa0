"""What a project must pass before it is shipped: the checks, its scenarios, its lock."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tuvl.check.finding import Finding, Report, Severity
from tuvl.check.runner import check_paths
from tuvl.check.shipped import ship_findings
from tuvl.dataclass import dataclass
from tuvl.locking.lock import LOCK_NAME
from tuvl.project.index import ProjectIndex
from tuvl.scenarios.run import Outcome, run_scenarios
from tuvl.scenarios.scenario import find_scenarios
from tuvl.scenarios.unread import unread_files
from tuvl.values import JsonObject

SECRET_IN_TEXT = "TV701"
"""A finding that stops a release however little it weighs: whoever has the bundle would have the secret."""
_PRODUCTION = ("TV801", "TV802")
"""Findings of the checks that are errors in a strict release; those of the lock gate are so by themselves."""

Verdict = Literal["passed", "warned", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """How one of them went. What only warns stops a strict release, where it has failed."""

    name: Literal["validate", "test", "lock"]
    verdict: Verdict
    said: str
    """One line for people."""
    counts: JsonObject
    report: Report | None = None
    outcomes: tuple[Outcome, ...] = ()

    def to_json(self) -> JsonObject:
        """Write it for programs."""
        return {"name": self.name, "result": self.verdict, **self.counts}


def check_gate(root: Path, *, strict: bool, jobs: int = 1) -> Gate:
    """Check the whole project."""
    report = check_paths([root], project=root, jobs=jobs, strict=strict)
    report = replace(report, findings=tuple(_weighed(one, strict=strict) for one in report.findings))
    failed = report.failed(strict=strict) or report.broken
    said = _counted(report)
    if any(finding.code == SECRET_IN_TEXT for finding in report.findings):
        failed, said = True, f"{said}; a secret stands in a file, so nothing is shipped"
    return Gate(
        name="validate",
        verdict="failed" if failed else "warned" if report.warnings else "passed",
        said=said,
        counts={
            "files": report.files,
            "errors": report.errors,
            "warnings": report.warnings,
            "notes": report.notes,
        },
        report=report,
    )


def _weighed(finding: Finding, *, strict: bool) -> Finding:
    strictly = strict and finding.code in _PRODUCTION and finding.severity is Severity.WARNING
    return replace(finding, severity=Severity.ERROR) if strictly else finding


def lock_gate(project: ProjectIndex, *, strict: bool) -> Gate:
    """Compare the project with its lock, and look at what only matters when a project leaves the house."""
    findings = ship_findings(project, strict=strict)
    texts = {file: project.text_of(file) or "" for file in {finding.file for finding in findings}}
    report = Report.of(findings, files=len(texts), texts=texts)
    there = os.path.lexists(project.root / LOCK_NAME)
    failed = report.failed(strict=strict) or report.broken
    return Gate(
        name="lock",
        verdict="failed" if failed else "warned" if report.warnings else "passed",
        said=_counted(report),
        counts={"lock": there, "errors": report.errors, "warnings": report.warnings, "notes": report.notes},
        report=report,
    )


def _counted(report: Report) -> str:
    counts = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    told = ", ".join(f"{number} {noun}{'s' * (number != 1)}" for number, noun in counts if number)
    return told or "nothing found"


def test_gate(project: ProjectIndex, *, environ: Mapping[str, str], strict: bool) -> Gate:
    """Run every scenario of the project, offline. Project code is run: stdout must be set aside."""
    scenarios = find_scenarios(project, ()).scenarios
    outcomes = (*unread_files(project), *run_scenarios(project, scenarios, environ=environ))
    passed = sum(outcome.verdict == "passed" for outcome in outcomes)
    counts: JsonObject = {"scenarios": len(outcomes), "passed": passed, "failed": len(outcomes) - passed}
    if not outcomes:
        said = "there is no scenario; `tuvl test --generate` writes some"
        return Gate(name="test", verdict="failed" if strict else "warned", said=said, counts=counts)
    failed = passed < len(outcomes)
    return Gate(
        name="test",
        verdict="failed" if failed else "passed",
        said=f"{passed} of {len(outcomes)} scenarios passed" if failed else f"{passed} passed",
        counts=counts,
        outcomes=outcomes,
    )
