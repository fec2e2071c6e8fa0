"""The outline of a file: its documents, and the steps, fields or checks in them."""

from collections.abc import Iterator

from lsprotocol import types

from tuvl.analysis.steps import items, mapping, text
from tuvl.lsp.asked import kind_of, workflow_of
from tuvl.lsp.overlay import Buffer
from tuvl.source.document import Document
from tuvl.source.place import Range
from tuvl.values import KeyPath

Kind = types.SymbolKind

_CHILDREN: dict[str, tuple[str, str]] = {"ModelDefinition": ("fields", "name"), "Artifact": ("checks", "check")}
"""Kind of document → the list of its `spec` that is shown, and the field that names an entry."""


def symbols(buffer: Buffer) -> list[types.DocumentSymbol]:
    """List what a file holds."""
    loaded = buffer.readable
    return [_document(document, kind_of(loaded, document) or "document", buffer) for document in loaded.documents]


def _document(document: Document, kind: str, buffer: Buffer) -> types.DocumentSymbol:
    data = mapping(document.data)
    head = data if "metadata" not in data else mapping(data["metadata"])
    named: KeyPath = ("metadata", "name") if "metadata" in data else ("name",)
    return _symbol(
        document,
        text(head.get("name")) or "<unnamed>",
        kind,
        Kind.Module,
        ((), named),
        list(_inside(document, buffer)),
        buffer,
    )


def _inside(document: Document, buffer: Buffer) -> Iterator[types.DocumentSymbol]:
    workflow = workflow_of(document)
    if workflow is not None:
        for step in workflow.steps:
            about = f"{step.kind}, {step.mode}" if step.mode else step.kind or ""
            yield _symbol(document, step.id, about, Kind.Function, (step.path, (*step.path, "id")), [], buffer)
        return
    name, field = _CHILDREN.get(document.kind or "", ("", ""))
    for index, entry in enumerate(items(mapping(mapping(document.data).get("spec")).get(name))):
        label = text(mapping(entry).get(field))
        if label:
            path = ("spec", name, index)
            yield _symbol(document, label, "", Kind.Field, (path, (*path, field)), [], buffer)


def _symbol(
    document: Document,
    name: str,
    detail: str,
    kind: types.SymbolKind,
    paths: tuple[KeyPath, KeyPath],
    children: list[types.DocumentSymbol],
    buffer: Buffer,
) -> types.DocumentSymbol:
    whole, chosen = (document.locate(path) for path in paths)
    # An editor takes a symbol only when its name lies inside of it.
    whole = Range(min(whole.start, chosen.start), max(whole.end, chosen.end))
    to_range = buffer.content.to_range
    return types.DocumentSymbol(
        name=name, detail=detail, kind=kind, range=to_range(whole), selection_range=to_range(chosen), children=children
    )
