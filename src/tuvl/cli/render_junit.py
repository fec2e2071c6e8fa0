"""Findings as JUnit XML: a suite for each file, as test reports of CI systems show it."""

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from tuvl.check.finding import Finding, Report, Severity
from tuvl.cli.placing import repository_path
from tuvl.cli.render import finding_text

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report_junit(report: Report, *, strict: bool = False) -> str:
    """Write the report; what closes the gate is a failure, all else passes and says what it is.

    A file without findings is a suite with one case that passes; a path that cannot be read is an error.
    """
    by_file: dict[str, list[Finding]] = {file: [] for file in report.checked}
    for finding in report.findings:
        by_file.setdefault(finding.file, []).append(finding)
    suites = [_suite(file, found, report, strict=strict) for file, found in sorted(by_file.items())]
    failures = sum(fails(finding, strict=strict) for finding in report.findings)
    tests = sum(max(len(found), 1) for found in by_file.values()) + len(report.unreadable)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="tuvl validate" tests="{tests}" failures="{failures}" errors="{len(report.unreadable)}">',
        *(line for suite in suites for line in suite),
        *_unreadable(report.unreadable),
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def fails(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding closes the gate."""
    return finding.severity is Severity.ERROR or (strict and finding.severity is Severity.WARNING)


def _suite(file: str, found: Sequence[Finding], report: Report, *, strict: bool) -> Iterator[str]:
    shown = repository_path(file)
    failures = sum(fails(finding, strict=strict) for finding in found)
    yield f'  <testsuite name={_attribute(shown)} tests="{max(len(found), 1)}" failures="{failures}" errors="0">'
    if not found:
        yield f'    <testcase classname={_attribute(shown)} name="nothing found"/>'
    for finding in found:
        name = f"{finding.code} {finding.name} at {finding.line}:{finding.column}"
        text = finding_text(finding, report.texts.get(file, ""))
        yield (
            f"    <testcase classname={_attribute(shown)} name={_attribute(name)} file={_attribute(shown)} "
            f'line="{finding.line}">'
        )
        if fails(finding, strict=strict):
            attributes = f"type={_attribute(finding.code)} message={_attribute(finding.message)}"
            yield f"      <failure {attributes}>{_text(text)}</failure>"
        else:
            yield f"      <system-out>{_text(text)}</system-out>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _unreadable(messages: Sequence[str]) -> Iterator[str]:
    if not messages:
        return
    yield f'  <testsuite name="not checked" tests="{len(messages)}" failures="0" errors="{len(messages)}">'
    for message in messages:
        yield f'    <testcase classname="not checked" name={_attribute(message)}>'
        yield f'      <error type="unreadable" message={_attribute(message)}/>'
        yield "    </testcase>"
    yield "  </testsuite>"


def sound_xml(text: str) -> str:
    """Escape what no XML document may hold, not even as a reference."""
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def _attribute(text: str) -> str:
    return quoteattr(sound_xml(text))


def _text(text: str) -> str:
    return escape(sound_xml(text))
