"""What can be done about a finding: the mend that `tuvl validate --fix` makes, or a comment that accepts it."""

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from tuvl.check.finding import Finding
from tuvl.check.suppressing import can_be_hidden
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.repair import parse
from tuvl.lsp.showing import place_of_finding
from tuvl.project.layout import is_prose
from tuvl.source.place import Position, Range
from tuvl.source.rewrite import Replacement, rewrite

REASON = "say here why this is accepted"
FIX_ALL = types.CodeActionKind.SourceFixAll

MOST_FINDINGS = 20
"""Findings of one place for which something is offered."""


def actions(
    buffer: Buffer,
    findings: Sequence[Finding],
    shown: Sequence[tuple[Finding, types.Diagnostic]],
    only: Sequence[str] | None,
) -> list[types.CodeAction]:
    """What can be done about the findings of a place (`shown`), and about all of a file (`findings`)."""
    found: list[types.CodeAction] = []
    if _wanted(types.CodeActionKind.QuickFix, only):
        for finding, diagnostic in shown[:MOST_FINDINGS]:
            found += _mend(buffer, finding, diagnostic)
        for finding, diagnostic in shown[:MOST_FINDINGS]:
            found += _accept(buffer, finding, diagnostic)
    if _wanted(FIX_ALL, only):
        edits = _mended(buffer, findings)
        if edits:
            title = "Mend everything that tuvl is certain of"
            found.append(types.CodeAction(title=title, kind=FIX_ALL, edit=_edit(buffer, edits)))
    return found


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    return not only or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _mend(buffer: Buffer, finding: Finding, diagnostic: types.Diagnostic) -> Iterator[types.CodeAction]:
    edits = _mended(buffer, [finding])
    if edits:
        yield types.CodeAction(
            title=f"Replace by {finding.replacement}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=True,
            edit=_edit(buffer, edits),
        )


def _mended(buffer: Buffer, findings: Iterable[Finding]) -> list[types.TextEdit]:
    """The edits that mend what is certain; none where the text would not be sound afterwards."""
    return edits_for(
        buffer,
        [
            Replacement(place=place_of_finding(finding), new=finding.replacement)
            for finding in findings
            if finding.replacement is not None
        ],
    )


def edits_for(buffer: Buffer, replacements: Sequence[Replacement]) -> list[types.TextEdit]:
    """The edits that put names in place of others, as far as that leaves the text sound."""
    raw = buffer.content.text.encode("utf-8", "surrogatepass")
    if not replacements or buffer.is_broken:
        return []
    mended, _ = rewrite(raw, replacements, prose=is_prose(buffer.path))
    return buffer.content.edits_to(mended.decode("utf-8")) if mended != raw else []


def _accept(buffer: Buffer, finding: Finding, diagnostic: types.Diagnostic) -> Iterator[types.CodeAction]:
    if not can_be_hidden(finding):
        return
    edit = _comment(buffer, finding)
    if edit is not None:
        yield types.CodeAction(
            title=f"Accept {finding.code} here, with a reason",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=_edit(buffer, [edit]),
        )


def _comment(buffer: Buffer, finding: Finding) -> types.TextEdit | None:
    """A comment above the line of a finding, where it is one: inside of a text it would be text."""
    lines = buffer.content.lines
    if finding.line > len(lines):
        return None
    line = lines[finding.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    comment = f"{indent}# tuvl: ignore[{finding.code}] {REASON}"
    tried = parse(buffer.path, "\n".join([*lines[: finding.line - 1], comment, *lines[finding.line - 1 :]]))
    if not any(one.line == finding.line and finding.code in one.codes for one in tried.suppressions):
        return None
    end = "\r\n" if "\r\n" in buffer.content.text else "\n"
    start = Position(finding.line, 1)
    return types.TextEdit(range=buffer.content.to_range(Range(start, start)), new_text=comment + end)


def _edit(buffer: Buffer, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
    document = types.OptionalVersionedTextDocumentIdentifier(uri=buffer.uri, version=buffer.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=list(edits))])
