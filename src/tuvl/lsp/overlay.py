"""The texts that are open in the editor, and each of them parsed once."""

from dataclasses import field
from functools import cached_property
from pathlib import Path
from threading import Lock

from tuvl.dataclass import dataclass
from tuvl.lsp.repair import lost_document, parse, readable
from tuvl.lsp.text import EditorText
from tuvl.project.layout import YAML_SUFFIXES, is_prose
from tuvl.project.loading import LoadedFile


@dataclass(frozen=True)
class Buffer:
    """One open text, in one version. Several threads may ask it at once."""

    path: Path
    uri: str
    version: int
    content: EditorText
    _lock: Lock = field(default_factory=Lock, compare=False)

    @property
    def holds_documents(self) -> bool:
        """Whether the file is one that documents are read from."""
        return is_prose(self.path) or self.path.suffix.lower() in YAML_SUFFIXES

    @property
    def loaded(self) -> LoadedFile:
        """The text, parsed as it stands."""
        with self._lock:
            return self._loaded

    @property
    def readable(self) -> LoadedFile:
        """The text without the lines that keep it from being read; as it stands, when nothing helps."""
        with self._lock:
            return self._readable

    @property
    def is_broken(self) -> bool:
        """Whether a document of the text cannot be read."""
        return lost_document(self.loaded) is not None

    @cached_property
    def _loaded(self) -> LoadedFile:
        return parse(self.path, self.content.text)

    @cached_property
    def _readable(self) -> LoadedFile:
        loaded = self._loaded
        return loaded if lost_document(loaded) is None else readable(self.path, loaded) or loaded
