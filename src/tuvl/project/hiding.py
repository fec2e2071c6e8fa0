"""Files with a mistake that may hide a document: what is looked up and not found may stand in one of them."""

import re
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.spec.schema_files import KINDS
from tuvl.suggest import closest

FOREIGN = "apiVersion"
"""A field that makes a document one of another tool."""

_FOREIGN_LINE = re.compile(rf"^['\"]?{FOREIGN}['\"]?\s*:", re.MULTILINE)

_KIND = re.compile(rb"(?<![\w.-])kind['\"]?\s*:\s*['\"]?([\w.-]+)")


@dataclass(frozen=True, slots=True)
class Hiding:
    """A file that may hold a document which cannot be found."""

    file: str
    """How messages call it."""
    loaded: LoadedFile | None
    """`None` when it cannot be read at all."""


def is_foreign(document: Document) -> bool:
    """Whether a document says that it belongs to another tool, whatever its kind."""
    return isinstance(document.data, dict) and FOREIGN in document.data


def is_foreign_text(loaded: LoadedFile) -> bool:
    """Whether a file that could not be parsed says that it belongs to something else."""
    return _FOREIGN_LINE.search(loaded.text) is not None


def is_broken(loaded: LoadedFile) -> bool:
    """Whether a file has mistakes for which nobody can tell what documents it holds."""
    return any(problem.code != "TV004" for problem in loaded.problems)


def may_mention(raw: bytes, name: str) -> bool:
    """Whether the bytes of a file spell a name out, or cannot be searched for it because they are no UTF-8 text."""
    return b"\0" in raw[:4] or re.search(rb"(?<![\w.-])%s(?![\w.-])" % re.escape(name.encode()), raw) is not None


def may_hold(raw: bytes, kind: str) -> bool:
    """Whether the bytes of a file spell a kind out, or one that looks like it, or cannot be searched."""
    return may_mention(raw, kind) or any(_means(word.decode("ascii"), kind) for word in set(_KIND.findall(raw)))


def _means(word: str, kind: str) -> bool:
    return word not in KINDS and closest(word, KINDS) == kind


def spells_name(text: str, name: str) -> bool:
    """Whether a text says `name: <name>`, as a document of that name does."""
    return re.search(rf"\bname['\"]?\s*:\s*['\"]?{re.escape(name)}(?![\w.-])", text) is not None


def may_hide(loaded: LoadedFile, name: str) -> bool:
    """Whether a file that mentions a name has a mistake for which a document of that name would not be found."""
    if is_broken(loaded):
        return not is_foreign_text(loaded)
    return any(_is_out_of_reach(document, name, loaded) for document in loaded.documents)


def may_hide_kind(loaded: LoadedFile, kind: str) -> bool:
    """Whether a file that may hold a kind has a mistake for which a document of that kind would not be found."""
    if is_broken(loaded):
        return not is_foreign_text(loaded)
    return any(
        document.kind is not None and _means(document.kind, kind) and not is_foreign(document)
        for document in loaded.documents
    )


def _is_out_of_reach(document: Document, name: str, loaded: LoadedFile) -> bool:
    """Whether a document has the name, and a kind or a version under which nothing is looked up."""
    data: Any = document.data
    if not isinstance(data, dict) or FOREIGN in data or data.get("enabled", True) is False:
        return False
    head = data if loaded.prose is not None else data.get("metadata")
    if not isinstance(head, dict) or head.get("name") != name:
        return False
    if loaded.prose is not None or document.kind == "Artifact":
        version = head.get("version", 1)
        return type(version) is not int or version < 1
    return document.kind not in KINDS
