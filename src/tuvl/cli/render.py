"""Reports for people and for programs."""

from tuvl.check.finding import Finding, Report, Severity
from tuvl.source.excerpt import excerpt
from tuvl.source.place import Position, Range
from tuvl.values import JsonObject, JsonValue, printable, printable_lines

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}


def report_text(report: Report, *, colour: bool = False, least: Severity = Severity.NOTE) -> str:
    """Write the findings for people, each with its line and a hint; empty when there is none.

    `least` leaves out what weighs less.
    """
    shown = [finding for finding in report.findings if _weight(finding.severity) >= _weight(least)]
    return "\n".join(finding_text(finding, report.texts.get(finding.file, ""), colour=colour) for finding in shown)


def _weight(severity: Severity) -> int:
    return (Severity.NOTE, Severity.WARNING, Severity.ERROR).index(severity)


def finding_text(finding: Finding, text: str, *, colour: bool = False) -> str:
    """Write one finding: place, code and message, then the source line with carets, then the hint."""
    place = f"{printable(finding.file)}:{finding.line}:{finding.column}:"
    label = f"{finding.code} {finding.severity}:"
    if colour:
        place, label = f"{_BOLD}{place}{_RESET}", f"{_COLOURS[finding.severity]}{label}{_RESET}"
    lines = [f"{place} {label} {printable_lines(finding.message)}"]
    start, end = Position(finding.line, finding.column), Position(finding.end_line, finding.end_column)
    source = excerpt(text, Range(start, end)) if text else ""
    if source:
        lines.append(f"{_DIM}{source}{_RESET}" if colour else source)
    if finding.hint:
        lines.append(f"  hint: {printable_lines(finding.hint)}")
    return "\n".join(lines) + "\n"


def report_json(report: Report) -> JsonObject:
    """Write the report as the JSON document that programs read."""
    findings: list[JsonValue] = [finding_json(finding) for finding in report.findings]
    return {
        "findings": findings,
        "summary": {
            "files": report.files,
            "errors": report.errors,
            "warnings": report.warnings,
            "notes": report.notes,
        },
    }


def finding_json(finding: Finding) -> JsonObject:
    """Write one finding as the JSON object that programs read."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "path": finding.path,
        "fixable": finding.fixable,
    }


def summary_line(report: Report) -> str:
    """Say in one line what was checked and found."""
    checked = f"{_count(report.files, 'file')} checked"
    if not report.findings:
        return f"{checked}: nothing found"
    counts = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    return f"{checked}: " + ", ".join(_count(number, noun) for number, noun in counts if number)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
