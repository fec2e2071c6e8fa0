"""How much findings weigh where the project says so itself: `spec.checks.severity`, or `[tool.tuvl.severity]`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tuvl.analysis.steps import mapping
from tuvl.check.finding import CANNOT_CHECK, Finding, Severity
from tuvl.check.rule import Rule
from tuvl.check.rules import ALL_RULES
from tuvl.check.rules.check_severity import CheckSeverity
from tuvl.project.index import ProjectIndex
from tuvl.project.pyproject import TABLE, ToolTable, severities
from tuvl.suggest import did_you_mean

IGNORE = "ignore"
CHOICES = (*(severity.value for severity in Severity), IGNORE)
"""What a check can be set to."""

_BY_CODE: dict[str, Rule] = {rule.code: rule for rule in ALL_RULES}
_RULE = CheckSeverity()
_HELD_BY_RUNS = frozenset({"TV604"}) | {rule.code for rule in ALL_RULES if rule.phase == "ship"}
"""Checks whose errors keep nothing from running."""
_ALWAYS_TOLD = CANNOT_CHECK | {_RULE.code}


def weighed(findings: Iterable[Finding], project: ProjectIndex) -> list[Finding]:
    """Give the findings the severities that the project sets, without those that it ignores."""
    chosen = _chosen(project)
    return list(_weighed(findings, chosen)) if chosen else list(findings)


def _chosen(project: ProjectIndex) -> Mapping[str, str]:
    together = {**dict(severities(project.tool_table)), **_in_config(project.config)}
    return {code: choice for code, choice in together.items() if isinstance(choice, str) and choice in CHOICES}


def _in_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(mapping(config.get("spec")).get("checks")).get("severity"))


def _weighed(findings: Iterable[Finding], chosen: Mapping[str, str]) -> Iterator[Finding]:
    for finding in findings:
        choice = chosen.get(finding.code)
        if choice is None or finding.asked or _stays(finding.code, finding.severity):
            yield finding
        elif choice != IGNORE:
            yield replace(finding, severity=Severity(choice))


def _stays(code: str, severity: Severity) -> bool:
    """Whether no setting makes less of an error: what it is about cannot run, or the gate cannot do its work."""
    return code in _ALWAYS_TOLD or (severity is Severity.ERROR and code not in _HELD_BY_RUNS)


def severity_findings(project: ProjectIndex) -> Iterator[Finding]:
    """Say which of the project's settings of severities mean nothing, or cannot be."""
    config = project.config_document
    if config is not None:
        for code, choice in _in_config(project.config).items():
            wrong = _wrong(code, choice)
            # That a severity is none is a mistake of shape, which is told there.
            if wrong is not None and choice in CHOICES:
                path = ("spec", "checks", "severity", code)
                yield _RULE.finding(config, path, wrong[0], hint=wrong[1], at_key=True)
    if project.tool_table is not None:
        yield from _in_table(project.tool_table)


def _in_table(table: ToolTable) -> Iterator[Finding]:
    if table.problem is not None:
        message = f"the severities of this project are unknown: {table.problem}"
        yield _RULE.finding_at(table.file, table.locate("tuvl"), message, hint="mend the file")
        return
    for key in table.data:
        if key != "severity":
            hint = did_you_mean(key, ("severity",)) or f"it takes the table `[{TABLE}.severity]`"
            yield _RULE.finding_at(table.file, table.locate(key), f"`{TABLE}` has no key {key!r}", hint=hint)
    if not isinstance(table.data.get("severity", {}), dict):
        hint = f'write `[{TABLE}.severity]`, with lines such as `TV302 = "error"`'
        yield _RULE.finding_at(table.file, table.locate("severity"), f"`{TABLE}.severity` is no table", hint=hint)
    for code, choice in severities(table):
        wrong = _wrong(code, choice)
        if wrong is not None:
            yield _RULE.finding_at(table.file, table.locate(code), wrong[0], hint=wrong[1])


def _wrong(code: str, choice: object) -> tuple[str, str] | None:
    """Say what is wrong with the severity of one check, and what to do."""
    rule = _BY_CODE.get(code)
    if rule is None:
        return f"there is no check {code!r}", did_you_mean(code, _BY_CODE) or "`tuvl explain` lists the checks"
    if choice not in CHOICES:
        return f"the severity of {code} cannot be {choice!r}", f"write one of {', '.join(CHOICES)}"
    if choice != Severity.ERROR.value and _stays(code, rule.severity):
        hint = "take the line away; a comment with a reason accepts it in one place, if a run can go on in spite of it"
        return f"{code} {rule.name} is an error that cannot be lowered", hint
    return None
