"""Enabled documents of one project that share kind, name and version: whoever names one of them may mean another."""

from collections.abc import Iterator
from pathlib import Path

from tuvl.project.catalogue import Entry
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document


def twins(document: Document, index: ProjectIndex) -> tuple[Entry, ...]:
    """Return the documents with the key of this one, itself included, in the order of the files; none without a key.

    Only files that spell the name out are looked at, so that one file is checked without reading a whole project.
    """
    loaded = index.file_of(document)
    entries = () if loaded is None else index.entries(loaded.path)
    own = entries[document.index] if document.index < len(entries) else None
    if loaded is None or own is None or own.key is None or own.name is None:
        return ()
    paths = dict.fromkeys((*index.spelling(own.name), loaded.path))
    return tuple(entry for path in _in_order(paths, index) for entry in index.entries(path) if entry.key == own.key)


def _in_order(paths: dict[Path, None], index: ProjectIndex) -> Iterator[Path]:
    yield from (path for path in index.paths if path in paths)
    known = set(index.paths)
    yield from (path for path in paths if path not in known)


def said_twice(entry: Entry, first: Entry) -> str:
    """Say of the second of two documents that it is one."""
    kind, name, version = entry.key or ("", "", "")
    what = f"{kind} {name!r} ({'version ' if kind == 'artifact' else ''}{version})"
    return f"{what} is defined twice, first in {first.file}:{first.place.start.line}"
