"""What the rest of a project asks of a file: the names of its documents and what they claim.

An entry is small, so that those of thousands of files can be kept when none of the files is.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import mapping, text
from tuvl.artifacts.reference import ArtifactRef
from tuvl.dataclass import dataclass
from tuvl.project.hiding import is_foreign
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.source.place import Range
from tuvl.spec.schema_files import KINDS
from tuvl.values import KeyPath

Key: TypeAlias = tuple[str, str, str]
"""What tells documents apart: kind, name and version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The requests that a workflow answers."""

    method: str
    path: str
    place: Range
    """Where the path stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One document of a file."""

    file: str
    """How messages call the file."""
    kind: str | None
    """`None` for prose, and for a document whose kind is none of ours, or that is of another tool."""
    name: str | None
    key: Key | None
    """`None` for what has no name, what is switched off, and what is of another tool."""
    path: KeyPath
    """Key path of the name."""
    place: Range
    """Where the name stands."""
    enabled: bool
    first: Range | None = None
    """Where the first document of the same file with the same key has its name, unless that is this one."""
    trigger: Trigger | None = None
    artifacts: frozenset[str] = frozenset()
    """Names of the artifacts that it refers to."""


def entries_of(loaded: LoadedFile) -> tuple[Entry, ...]:
    """Make the entries of a file, one for each of its documents."""
    first: dict[Key, Range] = {}
    return tuple(_entry(document, first, prose=loaded.prose is not None) for document in loaded.documents)


def _entry(document: Document, first: dict[Key, Range], *, prose: bool) -> Entry:
    data = mapping(document.data)
    enabled = data.get("enabled", True) is not False
    head = data if prose else mapping(data.get("metadata"))
    name = text(head.get("name"))
    path: KeyPath = ("name",) if prose else ("metadata", "name")
    place = document.locate(path)
    key = None
    ours = prose or (document.kind in KINDS and not is_foreign(document))
    if name is not None and enabled and ours:
        key = _key(document.kind, name, head)
    before = place if key is None else first.setdefault(key, place)
    return Entry(
        file=document.file,
        kind=document.kind if ours else None,
        name=name,
        key=key,
        path=path,
        place=place,
        enabled=enabled,
        first=None if before is place else before,
        trigger=_trigger(document) if ours and document.kind == "Workflow" else None,
        artifacts=frozenset(_artifacts(data, document.kind)),
    )


def _key(kind: str | None, name: str, head: Mapping[str, Any]) -> Key:
    if kind in (None, "Artifact"):
        return ("artifact", name, str(head.get("version", 1)))
    return (str(kind), name, str(head.get("schema_version", "v1")))


def _trigger(document: Document) -> Trigger | None:
    trigger = mapping(mapping(mapping(document.data).get("spec")).get("trigger"))
    path = text(trigger.get("path"))
    if path is None:
        return None
    place = document.locate(("spec", "trigger", "path"))
    return Trigger(method=text(trigger.get("method")) or "POST", path=path, place=place)


def _artifacts(data: Mapping[str, Any], kind: str | None) -> set[str]:
    read = (ArtifactRef.parse(reference.text) for reference in artifact_references(data, kind))
    return {reference.name for reference in read if reference is not None}
