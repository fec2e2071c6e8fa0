"""Findings as workflow commands of GitHub Actions, which shows them at their lines in a pull request."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Report, Severity
from tuvl.cli.placing import repository_path
from tuvl.values import printable_lines

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def report_github(report: Report) -> str:
    """Write one command a finding, in source order, and one for each path that could not be read."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield _command(finding)
    for message in report.unreadable:
        yield f"::error title=tuvl::{_data(message)}"


def _command(finding: Finding) -> str:
    properties = {"file": repository_path(finding.file), "line": str(finding.line), "endLine": str(finding.end_line)}
    if finding.line == finding.end_line:
        # Columns are taken on one line only; the last one is included.
        properties |= {"col": str(finding.column), "endColumn": str(max(finding.column, finding.end_column - 1))}
    properties["title"] = f"{finding.code} {finding.name}"
    text = finding.message if finding.hint is None else f"{finding.message}\nhint: {finding.hint}"
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return printable_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
