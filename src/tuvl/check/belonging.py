"""Tells documents of this language from other YAML that lives beside them."""

from typing import Any

from tuvl.project.hiding import FOREIGN
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.spec.removed import REMOVED_KINDS
from tuvl.spec.schema_files import KINDS
from tuvl.suggest import closest


def is_ours(document: Document, *, named: bool) -> bool:
    """Whether a YAML document sets out to be one of this language.

    It has a `kind:` of ours, or one that looks misspelt. When its file was `named` any `kind:` will do, unless there
    is an `apiVersion:` too.
    """
    data: Any = document.data
    if not isinstance(data, dict) or "kind" not in data:
        return False
    kind = data["kind"]
    if isinstance(kind, str) and kind in KINDS:
        return True
    if FOREIGN in data:
        return False
    if named or not isinstance(kind, str):
        return named
    looks_alike = closest(kind, KINDS) is not None or kind in REMOVED_KINDS
    return looks_alike or ("spec" in data and "metadata" in data)


def why_not_ours(loaded: LoadedFile) -> str:
    """Say why a file that was named holds no document of ours."""
    if not loaded.documents:
        return "has no front matter" if loaded.prose is not None else "is empty"
    data: Any = loaded.documents[0].data
    if not isinstance(data, dict):
        return f"holds {'a list' if isinstance(data, list) else 'a single value'}, not a document with `kind:`"
    return "has `apiVersion:`, which makes it a file of another tool" if FOREIGN in data else "has no `kind:`"
