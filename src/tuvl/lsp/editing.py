"""What the server knows of the editor: open texts, projects, and the findings that are shown."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types
from pygls import uris

from tuvl.check.finding import Finding
from tuvl.dataclass import dataclass
from tuvl.lsp.asked import Asked, Facts, document_at, kind_of
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.session import Checked, ProjectSession
from tuvl.lsp.showing import diagnostic
from tuvl.lsp.targets import Target
from tuvl.lsp.text import UTF16, EditorText
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute, find_root
from tuvl.source.document import Document


@dataclass(frozen=True, slots=True)
class Shown:
    """The findings of one file, as they were sent; `version` is that of the open text they are of."""

    uri: str
    version: int | None
    findings: tuple[Finding, ...]
    diagnostics: tuple[types.Diagnostic, ...]


class Editing:
    """The open texts, and a session for each project that they are of. Used on the event loop, read by threads."""

    def __init__(self) -> None:
        self.encoding: str = UTF16
        self.buffers: dict[Path, Buffer] = {}
        self.sessions: dict[Path, ProjectSession] = {}
        self.shown: dict[Path, dict[str, Shown]] = {}
        """Project root → what is shown of it, by URI."""
        self._kept: tuple[Buffer | None, ProjectIndex | None, dict[int, Facts]] = (None, None, {})

    # ---- texts -------------------------------------------------------------------------------------------------

    def open(self, item: types.TextDocumentItem) -> Path | None:
        """Take a text that was opened; returns its path, `None` for what is no file."""
        path = path_of(item.uri)
        if path is not None:
            content = EditorText(item.text, self.encoding)
            self.buffers[path] = Buffer(path, item.uri, item.version, content)
        return path

    def change(self, params: types.DidChangeTextDocumentParams) -> Path | None:
        """Take the changes of an open text; returns its path."""
        path = path_of(params.text_document.uri)
        buffer = self.buffers.get(path) if path is not None else None
        if path is None or buffer is None:
            return None
        content = buffer.content
        for change in params.content_changes:
            content = content.changed(change)
        self.buffers[path] = Buffer(path, buffer.uri, params.text_document.version, content)
        return path

    def buffer(self, uri: str) -> Buffer | None:
        """An open text that documents are read from."""
        path = path_of(uri)
        found = self.buffers.get(path) if path is not None else None
        return found if found is not None and found.holds_documents else None

    # ---- projects ----------------------------------------------------------------------------------------------

    def session(self, root: Path) -> ProjectSession:
        """The session of a project, made when it is first asked for."""
        return self.sessions.setdefault(root, ProjectSession(root))

    def buffers_of(self, root: Path) -> dict[Path, Buffer]:
        """The open texts of a project."""
        return {path: buffer for path, buffer in list(self.buffers.items()) if find_root(path) == root}

    def index_for(self, buffer: Buffer) -> ProjectIndex:
        """The project that an open text is of."""
        root = find_root(buffer.path)
        return self.session(root).index(self.buffers_of(root))

    def asked(self, buffer: Buffer, position: types.Position) -> Asked:
        """A position of an open text, ready to be asked about."""
        place, index = buffer.content.from_position(position), self.index_for(buffer)
        document = document_at(buffer.readable, place)
        return Asked(buffer, place, index, None if document is None else self._facts(buffer, document, index))

    def _facts(self, buffer: Buffer, document: Document, index: ProjectIndex) -> Facts:
        """What is known of a document; of the text that was asked about last it is kept."""
        if self._kept[0] is not buffer or self._kept[1] is not index:
            self._kept = (buffer, index, {})
        kept = self._kept[2]
        if document.index not in kept:
            kept[document.index] = Facts(document, kind_of(buffer.readable, document), index)
        return kept[document.index]

    # ---- places ------------------------------------------------------------------------------------------------

    def text_of(self, file: str, index: ProjectIndex) -> Buffer:
        """A file of the project, by the name messages give it: as it is open, else as it is on disk."""
        path = absolute(Path(file))
        found = self.buffers.get(path)
        if found is not None:
            return found
        return Buffer(path, uri_of(path), 0, EditorText(index.text_of(file) or "", self.encoding))

    def locations(self, targets: Sequence[Target], index: ProjectIndex) -> list[types.Location]:
        """Say places as the editor does."""
        found = []
        for target in targets:
            text = self.text_of(target.file, index)
            found.append(types.Location(uri=text.uri, range=text.content.to_range(target.place)))
        return found

    # ---- findings ----------------------------------------------------------------------------------------------

    def to_show(self, checked: Checked) -> Iterator[Shown]:
        """Say the findings of a check as the editor does, file by file."""
        index = checked.index
        for file, findings in checked.findings.items():
            path = absolute(Path(file))
            buffer = checked.buffers.get(path)
            text = self.text_of(file, index) if buffer is None else buffer
            shown = tuple(diagnostic(finding, text.content, index, text.uri) for finding in findings)
            yield Shown(text.uri, None if buffer is None else buffer.version, findings, shown)

    def is_current(self, shown: Shown) -> bool:
        """Whether findings are of the text as it is open now."""
        path = path_of(shown.uri)
        buffer = self.buffers.get(path) if path is not None else None
        return (buffer.version if buffer is not None else None) == shown.version

    def findings_of(self, buffer: Buffer) -> Shown | None:
        """What is shown of an open text; `None` while a newer version of it is not checked yet."""
        shown = self.shown.get(find_root(buffer.path), {}).get(buffer.uri)
        return shown if shown is not None and shown.version == buffer.version else None


def path_of(uri: str) -> Path | None:
    """The file a URI means; `None` for one that is no file."""
    path = uris.to_fs_path(uri)
    return absolute(Path(path)) if path else None


def uri_of(path: Path) -> str:
    """The URI of a file."""
    return uris.from_fs_path(str(path)) or ""
