"""Findings as an editor shows them."""

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from tuvl.analysis.steps import mapping
from tuvl.check.finding import Finding, Severity
from tuvl.lsp.asked import workflow_of
from tuvl.lsp.text import EditorText
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute
from tuvl.source.document import Document
from tuvl.source.place import Position, Range

SOURCE = "tuvl"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_FADED = frozenset({"TV301", "TV303"})
"""Steps and routes that are never taken."""

_WAY = re.compile(r"[\w-]+(?: \([\w-]+\))?(?: → (?:…|[\w-]+(?: \([\w-]+\))?))+")
_MOST_RELATED = 12


def diagnostic(finding: Finding, text: EditorText, index: ProjectIndex, uri: str) -> types.Diagnostic:
    """Show a finding: message and hint, code, severity, and the steps of a way that it shows."""
    message = finding.message if finding.hint is None else f"{finding.message}\nhint: {finding.hint}"
    return types.Diagnostic(
        range=text.to_range(place_of_finding(finding)),
        message=message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _FADED else None,
        related_information=list(_related(finding, text, index, uri)) or None,
        data={"name": finding.name, "fixable": finding.fixable},
    )


def place_of_finding(finding: Finding) -> Range:
    """Where a finding is."""
    return Range(Position(finding.line, finding.column), Position(finding.end_line, finding.end_column))


def _related(
    finding: Finding, text: EditorText, index: ProjectIndex, uri: str
) -> Iterator[types.DiagnosticRelatedInformation]:
    way = _WAY.search(finding.message) or _WAY.search(finding.hint or "")
    document = _document_of(finding, index) if way is not None else None
    workflow = workflow_of(document)
    if way is None or document is None or workflow is None:
        return
    for number, part in enumerate(way[0].split(" → ")[:_MOST_RELATED], start=1):
        name, _, signal = part.partition(" ")
        step = workflow.by_id.get(name)
        if step is not None:
            location = types.Location(uri=uri, range=text.to_range(document.locate((*step.path, "id"))))
            leaves = f", leaves by {signal.strip('()')!r}" if signal else ""
            yield types.DiagnosticRelatedInformation(location=location, message=f"{number}. step {name!r}{leaves}")


def _document_of(finding: Finding, index: ProjectIndex) -> Document | None:
    loaded = index.load(absolute(Path(finding.file)))
    found: Document | None = None
    for document in loaded.documents if loaded is not None else ():
        if mapping(document.data) and document.locate(()).start.line <= finding.line:
            found = document
    return found
