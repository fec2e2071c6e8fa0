"""The two states that are compared, and documents in them."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.steps import mapping
from tuvl.artifacts.registry import ArtifactView
from tuvl.dataclass import dataclass
from tuvl.project.hiding import is_foreign_text
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.source.place import Position
from tuvl.spec.schema_files import PROSE
from tuvl.values import KeyPath

_SYNTAX = frozenset({"TV001", "TV003"})
"""Findings of files that are not YAML, or none that is read."""


@dataclass(frozen=True)
class Side:
    """One state of a project; `prefix` is what messages call its folder, and `label` what a person is shown for it."""

    index: ProjectIndex
    prefix: str | None = None
    label: str = ""

    def shown(self, text: str) -> str:
        """Say a file name, or a message with file names, as a person knows them."""
        return text if self.prefix is None else text.replace(self.prefix, self.label)


@dataclass(frozen=True)
class Doc:
    """One document of one state; `data` may differ from the document's own where that means the same."""

    side: Side
    document: Document
    data: Mapping[str, Any]
    body: str | None = None
    """Text of a prose artifact."""
    body_line: int = 1

    @property
    def key(self) -> tuple[int, int]:
        """What tells two documents of one comparison apart."""
        return (id(self.side), id(self.document))

    @property
    def kind(self) -> str:
        """The kind, `PROSE` for the front matter of a markdown artifact."""
        return PROSE if self.body is not None else self.document.kind or ""

    @property
    def head(self) -> Mapping[str, Any]:
        """Where name and version stand."""
        return self.data if self.body is not None else mapping(self.data.get("metadata"))

    @property
    def name(self) -> str:
        """The document's name, empty without one."""
        name = self.head.get("name")
        return name if isinstance(name, str) else ""

    @property
    def spec(self) -> Mapping[str, Any]:
        """The `spec:` block."""
        return mapping(self.data.get("spec"))

    @property
    def enabled(self) -> bool:
        """Whether the document counts."""
        return self.data.get("enabled", True) is not False

    @property
    def file(self) -> str:
        """How a person knows the file."""
        return self.side.shown(self.document.file)

    def place(self, path: KeyPath, *, key: bool = False) -> Position:
        """Where a key path stands."""
        return self.document.locate(path, key=key).start


def doc_of(side: Side, document: Document) -> Doc:
    """Make the view of a document; of a markdown artifact with its text."""
    loaded = side.index.file_of(document)
    data = mapping(document.data)
    if loaded is not None and loaded.prose is not None:
        return Doc(side, document, data, loaded.prose.body, loaded.prose.body_line)
    return Doc(side, document, data)


def stops_short(loaded: LoadedFile) -> bool:
    """Whether a file has a mistake for which it, or a part of it, could not be read."""
    return any(problem.code in _SYNTAX for problem in loaded.problems) and not is_foreign_text(loaded)


def doc_of_artifact(side: Side, view: ArtifactView | None) -> Doc | None:
    """Make the view of an artifact that a reference led to."""
    if view is None:
        return None
    return Doc(side, view.document, mapping(view.document.data), view.body, view.body_line)
