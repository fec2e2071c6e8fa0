"""`# tuvl: ignore[CODE] reason`: hides findings, and tells of comments that hide nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from tuvl.check.finding import CANNOT_CHECK, POLICY, UNBUILDABLE, Finding, Severity
from tuvl.check.one_file import FileResult
from tuvl.check.rules import ALL_RULES
from tuvl.check.rules.unused_suppression import UnusedSuppression
from tuvl.dataclass import dataclass
from tuvl.source.document import Suppression
from tuvl.source.place import Range
from tuvl.suggest import did_you_mean

_CODES = frozenset(rule.code for rule in ALL_RULES)
_OF_SHIP = frozenset(rule.code for rule in ALL_RULES if rule.phase == "ship")
"""Codes that no validation brings about: a comment about one of them may hide something all the same."""
_RULE = UnusedSuppression()
_COMMENT = re.compile(r"#\s*tuvl:.*")
_WHY = "no run can go on in spite of it, or whoever runs the gate forbids it"
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(slots=True)
class _Comment:
    """One comment: where it stands, and the codes that have hidden something."""

    suppression: Suppression
    column: int
    width: int
    used: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    """Those that have met an error which no comment hides."""


def suppress(result: FileResult, more: Sequence[Finding] = ()) -> list[Finding]:
    """Return the findings of one file that no comment hides, and one for each comment that hides nothing.

    `more` are findings in this file that came from elsewhere.
    """
    findings = [*result.findings, *more]
    if not result.suppressions:
        return findings
    comments = list(_comments(result))
    on_line: dict[int, list[_Comment]] = {}
    for comment in comments:
        for line in dict.fromkeys((comment.suppression.line, comment.suppression.target)):
            on_line.setdefault(line, []).append(comment)
    kept = [finding for finding in findings if not _hidden(finding, on_line.get(finding.line, ()))]
    return kept + [finding for comment in comments for finding in _left_over(result.file, comment)]


def _comments(result: FileResult) -> Iterator[_Comment]:
    lines = _LINE_BREAK.split(result.text)
    for suppression in result.suppressions:
        index = suppression.line - 1
        line = lines[index] if index < len(lines) else ""
        found = _COMMENT.search(line)
        start = found.start() if found is not None else 0
        yield _Comment(suppression, start + 1, max(len(line.rstrip()) - start, 1))


def can_be_hidden(finding: Finding) -> bool:
    """Whether a comment may hide a finding.

    None hides an error that no run can go on in spite of: those of the first three families, of how agents are made,
    of the policy. None hides what the command line forbids either. The compiler takes the comments that count here.
    """
    if finding.code in CANNOT_CHECK or finding.asked:
        return False
    if finding.severity is not Severity.ERROR:
        return True
    return not finding.final and finding.code >= "TV300" and finding.code not in UNBUILDABLE | POLICY


def _hidden(finding: Finding, comments: Sequence[_Comment]) -> bool:
    """Whether one of the comments about its line hides a finding."""
    for comment in comments:
        if not comment.suppression.hides(finding.code, finding.line):
            continue
        if can_be_hidden(finding):
            comment.used.add(finding.code)
            return True
        comment.refused.add(finding.code)
    return False


def _left_over(file: str, comment: _Comment) -> Iterator[Finding]:
    place = Range.at(comment.suppression.line, comment.column, comment.width)
    if not comment.suppression.codes:
        message = "the comment names no check, so it hides nothing"
        yield _RULE.finding_at(file, place, message, hint="write `# tuvl: ignore[CODE] reason`")
        return
    if not comment.suppression.reason:
        message = "the comment gives no reason, so it hides nothing"
        yield _RULE.finding_at(file, place, message, hint="say after the bracket why the finding is accepted")
        return
    for code in comment.suppression.codes:
        if code not in _CODES:
            hint = did_you_mean(code, sorted(_CODES))
            yield _RULE.finding_at(file, place, f"there is no check {code!r}", hint=hint)
        elif code in comment.refused:
            message = f"this error of {code} cannot be hidden: {_WHY}"
            yield _RULE.finding_at(file, place, message, hint="mend what it tells, and delete the comment")
        elif code not in comment.used and code not in _OF_SHIP:
            message = f"nothing of {code} is hidden on line {comment.suppression.target}"
            hint = "delete the comment"
            yield _RULE.finding_at(file, place, message, hint=hint)
