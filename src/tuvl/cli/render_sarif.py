"""Findings as SARIF 2.1.0, the interchange format of static analysis that code scanning services read."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

from tuvl import __version__
from tuvl.check.explaining import DOCUMENTED, Page
from tuvl.check.finding import Finding, Report, Severity
from tuvl.cli.placing import repository_path
from tuvl.values import JsonObject, JsonValue

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SOURCE_ROOT = "SRCROOT"
"""The base that paths are relative to: the root of the repository."""

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def report_sarif(report: Report) -> JsonObject:
    """Write the report as one SARIF log with one run; the rules are those that have findings, by code."""
    codes = sorted({finding.code for finding in report.findings})
    pages = {page.code: page for page in DOCUMENTED}
    rules: list[JsonValue] = [_rule(pages[code]) for code in codes]
    indexes = {code: index for index, code in enumerate(codes)}
    seen: Counter[str] = Counter()
    results: list[JsonValue] = [_result(finding, indexes, seen) for finding in report.findings]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tuvl", "semanticVersion": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(report)],
                "results": results,
            }
        ],
    }


def _rule(page: Page) -> JsonObject:
    what, *why = page.paragraphs
    return {
        "id": page.code,
        "name": page.name,
        "shortDescription": {"text": what},
        "fullDescription": {"text": "\n\n".join(page.paragraphs)},
        "help": {"text": "\n\n".join([*(why or [what]), f"More: tuvl explain {page.code}"])},
        "defaultConfiguration": {"level": _LEVELS[page.severity]},
    }


def _result(finding: Finding, indexes: Mapping[str, int], seen: Counter[str]) -> JsonObject:
    text = finding.message if finding.hint is None else f"{finding.message}\nhint: {finding.hint}"
    return {
        "ruleId": finding.code,
        "ruleIndex": indexes[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _location(finding.file),
                    "region": {
                        "startLine": finding.line,
                        "startColumn": finding.column,
                        "endLine": finding.end_line,
                        "endColumn": finding.end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {"tuvl/v1": _fingerprint(finding, seen)},
    }


def _location(file: str) -> JsonObject:
    path = repository_path(file)
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": SOURCE_ROOT}


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """Name a finding so that it is known again after lines have moved; equal ones are counted."""
    what = "\0".join((finding.code, repository_path(finding.file), finding.message))
    seen[what] += 1
    return hashlib.sha256(f"{what}\0{seen[what]}".encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _invocation(report: Report) -> JsonObject:
    notes: list[JsonValue] = [{"level": "error", "message": {"text": message}} for message in report.unreadable]
    return {"executionSuccessful": not report.broken, "toolExecutionNotifications": notes}
