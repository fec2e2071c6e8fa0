"""A check that fails is named, closes the gate, and takes no other check with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.project_files import workflow, write
from tuvl.analysis.steps import StepView
from tuvl.check import one_file
from tuvl.check.dispatch import Dispatch
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.check.rules import ALL_RULES
from tuvl.check.runner import check_paths


class Fragile(Rule):
    """Fails on a step, after it has said something."""

    code = "TV998"
    name = "fragile"
    severity = Severity.WARNING

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        yield self.finding(subject, step.path, "said before")
        raise KeyError("broken")


def test_crash_of_one_check_is_told_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(one_file, "EVERYTHING", Dispatch((Fragile(), *ALL_RULES)))
    write(tmp_path, {"x.yaml": workflow().replace("Hello", "yes")})
    report = check_paths([Path("x.yaml")], select=[rule.code for rule in ALL_RULES])
    crash, other = report.findings
    assert (crash.code, crash.severity, crash.file) == ("TV999", "error", "x.yaml")
    assert "TV998 fragile" in crash.message
    assert "KeyError" in crash.message
    assert other.code == "TV007"
    assert report.broken


def test_only_overridden_visits_are_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unwanted(self: Rule, *arguments: object) -> Iterator[Finding]:
        raise AssertionError("called for nothing")

    dispatch = Dispatch((Quiet(),))
    for visit in ("visit_document", "visit_workflow", "visit_agent", "visit_project"):
        monkeypatch.setattr(Rule, visit, unwanted)
    monkeypatch.setattr(one_file, "EVERYTHING", dispatch)
    write(tmp_path, {"x.yaml": workflow()})
    assert check_paths([tmp_path / "x.yaml"]).findings == ()


class Quiet(Rule):
    """Looks at steps and says nothing."""

    code = "TV997"
    name = "quiet"
    severity = Severity.NOTE

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        return iter(())
