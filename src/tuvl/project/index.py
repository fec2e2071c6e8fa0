"""The documents of one project as plain data, each file read and parsed when something first asks for it."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tuvl.artifacts.registry import ArtifactRegistry, ArtifactView, prose_artifact, structured_artifact
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.catalogue import Entry, entries_of
from tuvl.project.configuration import KIND, ConfigFault, configuration_faults, configurations
from tuvl.project.hiding import Hiding, is_foreign, may_hide, may_mention
from tuvl.project.layout import PROJECT_FILE, absolute, is_prose, walk
from tuvl.project.loading import LoadedFile, display_name, parse_markdown, parse_yaml, read_file
from tuvl.project.pyproject import ToolTable, read_tool_table
from tuvl.project.witness import witness
from tuvl.source.document import Document

if TYPE_CHECKING:
    from tuvl.analysis.nodes import NodeFacts, NodeProblem

MOST_PARSED = 100
"""Parsed files that are kept where many are gone through; a tree takes a hundred times the room of its text."""

MOST_SOUGHT = 200
"""Names that are not found after which no broken files are searched for more of them."""

_SPELT = re.compile(rb"name['\"]?\s*:\s*['\"]?([\w.-]+)")
_WORD = re.compile(rb"[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesView:
    """The custom nodes of a project, read from the syntax of `nodes/*.py`."""

    folder: Path
    declared: "Mapping[str, NodeFacts]"
    """Node name → what it declares; of a name declared twice, the first."""
    problems: "tuple[NodeProblem, ...]"


class ProjectIndex:
    """A project on disk. Nothing is read before it is asked for, and nothing is read twice.

    What is parsed is kept until `shed` lets it go; it is parsed again when something asks for it then.

    Documents with `enabled: false` are left out of every lookup. Files that cannot be read are left out and named in
    `unreadable`.
    """

    def __init__(self, root: Path) -> None:
        self.root = absolute(root)
        self.state_root = self.root
        """Where runs keep what they make, `.tuvl` and the files of databases; the root unless that is not to last."""
        self.unreadable: list[str] = []
        """One message for each file or folder that could not be read so far."""
        self._raw: dict[Path, bytes | None] = {}
        self._stood_in: list[Path] = []
        self._loaded: dict[Path, LoadedFile | None] = {}
        self._shown: dict[str, Path] = {}
        self._entries: dict[Path, tuple[Entry, ...]] = {}
        self._by_kind: dict[str, tuple[Document, ...]] = {}
        self._by_name: dict[str, Mapping[str, Document]] = {}
        self._places: dict[str, Mapping[str, Path]] = {}
        self.cost_ceiling_usd: float | None = None
        """US dollars that one run of a workflow may cost, for whoever asks the checks for a ceiling."""
        self.strict = False
        """Whether the checks ask for more than every project needs."""
        self._hiding: dict[str, tuple[Hiding, ...]] = {}

    # ---- files -------------------------------------------------------------------------------------------------

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """All files of the project that may hold documents, in a fixed order; last those that stand in for no file."""
        walked = tuple(walk(self.root, prose=self.folder("artifacts"), on_error=self.note_unlisted))
        return walked + tuple(path for path in self._stood_in if not os.path.lexists(path))

    def files(self) -> tuple[LoadedFile, ...]:
        """All files of the project, parsed."""
        return tuple(self._parsed(lambda path: True))

    def load(self, path: Path) -> LoadedFile | None:
        """Return one file, parsed; `None` when it cannot be read. It need not lie in the project."""
        path = absolute(path)
        if path not in self._loaded:
            self._loaded[path] = self._parse(path)
        return self._loaded[path]

    def _parse(self, path: Path) -> LoadedFile | None:
        raw = self._read(path)
        parse = parse_markdown if is_prose(path) else parse_yaml
        return None if raw is None else parse(path, raw)

    def shed(self) -> None:
        """Let go of parsed files, the oldest first, when there are many; what stands in for a file stays."""
        if len(self._loaded) > MOST_PARSED + len(self._stood_in):
            for path in [path for path in self._loaded if path not in self._stood_in][:-MOST_PARSED]:
                del self._loaded[path]

    def entries(self, path: Path) -> tuple[Entry, ...]:
        """Return what a file says of its documents to the rest of the project; nothing when it cannot be read."""
        path = absolute(path)
        if path not in self._entries:
            loaded = self._loaded[path] if path in self._loaded else self._parse(path)
            self._entries[path] = () if loaded is None else entries_of(loaded)
        return self._entries[path]

    def catalogue(self) -> Iterator[Entry]:
        """Yield the entries of all files, in the order of the files."""
        for path in self.paths:
            yield from self.entries(path)

    def learn(self, path: Path, entries: tuple[Entry, ...]) -> None:
        """Take over the entries of a file that another process has parsed."""
        self._shown[display_name(path)] = path
        self._entries[path] = entries

    def stand_in(self, path: Path, raw: bytes, *, loaded: LoadedFile | None = None) -> None:
        """Let these bytes, which parse to `loaded`, be read in place of a file, as long as nothing has read it."""
        path = absolute(path)
        self._shown[display_name(path)] = path
        self._raw[path] = raw
        self._stood_in.append(path)
        if loaded is not None:
            self._loaded[path] = loaded

    def take_over(self, older: "ProjectIndex", unchanged: Iterable[Path]) -> None:
        """Use what an older index has read and parsed of files, which have not changed since."""
        for path in unchanged:
            raw, loaded = older._raw.get(path), older._loaded.get(path)
            if raw is not None and path not in self._raw:
                self._shown[display_name(path)] = path
                self._raw[path] = raw
                if loaded is not None:
                    self._loaded[path] = loaded
                if path in older._entries:
                    self._entries[path] = older._entries[path]

    def seen(self) -> tuple[Path, ...]:
        """The files that have been read so far."""
        return tuple(path for path, raw in list(self._raw.items()) if raw is not None)

    def file_of(self, document: Document) -> LoadedFile | None:
        """Return the file that a document of this project stands in."""
        path = self._shown.get(document.file)
        return self.load(path) if path is not None else None

    def raw(self, path: Path) -> bytes | None:
        """Return the bytes of a file; `None` when it cannot be read."""
        return self._read(absolute(path))

    def text_of(self, file: str) -> str | None:
        """Return the text of a file that something has asked for, by the name messages give it."""
        path = self._shown.get(file)
        raw = self._read(path) if path is not None else None
        return None if raw is None else raw.decode("utf-8", "replace").removeprefix("\ufeff")

    def is_set(self, variable: str) -> bool:
        """Tell whether the environment has a variable, and remember that it was asked."""
        return witness.is_set(variable)

    def relative(self, path: Path) -> str:
        """How messages call a file."""
        return display_name(path)

    def folder(self, name: str) -> Path:
        """Return one of the project's folders, by its usual name; `tuvl.yaml` may call it otherwise."""
        folders = _mapping(_mapping(self.config.get("spec")).get("folders"))
        chosen = folders.get(name)
        return self.root / (chosen if isinstance(chosen, str) and chosen else name)

    def _parsed(self, wanted: Callable[[Path], bool]) -> Iterator[LoadedFile]:
        for path in self.paths:
            if wanted(path):
                loaded = self.load(path)
                if loaded is not None:
                    yield loaded

    def _read(self, path: Path) -> bytes | None:
        if path not in self._raw:
            self._shown[display_name(path)] = path
            try:
                self._raw[path] = read_file(path)
            except UsageError as error:
                self.unreadable.append(str(error))
                self._raw[path] = None
        return self._raw[path]

    def note_unlisted(self, error: OSError) -> None:
        """Remember a folder that could not be listed."""
        reason = (error.strerror or type(error).__name__).lower()
        self.unreadable.append(f"cannot read {display_name(Path(error.filename or self.root))!r}: {reason}")

    def _mentions(self, path: Path, word: bytes) -> bool:
        raw = self._read(path)
        return raw is not None and word in raw

    # ---- documents ---------------------------------------------------------------------------------------------

    @cached_property
    def config_document(self) -> Document | None:
        """The `kind: ProjectConfig` document of `tuvl.yaml`, when there is one."""
        return next(iter(configurations(self.config_file)), None)

    @cached_property
    def config_file(self) -> LoadedFile | None:
        """`tuvl.yaml`, parsed; `None` for a project without, and when it cannot be read."""
        path = self.root / PROJECT_FILE
        return self.load(path) if os.path.lexists(path) else None

    @cached_property
    def config_faults(self) -> tuple[ConfigFault, ...]:
        """What keeps the project's configuration from being used; with any, nothing of the project may run."""
        return configuration_faults(self.root, self.config_file, self.documents(KIND))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Data of the `ProjectConfig` document (its settings stand under `spec`), or an empty mapping."""
        return _mapping(self.config_document.data) if self.config_document is not None else {}

    @cached_property
    def tool_table(self) -> ToolTable | None:
        """`[tool.tuvl]` of the project's `pyproject.toml`, when there is one."""
        return read_tool_table(self.root)

    def documents(self, kind: str) -> tuple[Document, ...]:
        """Return the enabled documents of one kind, in the order of their files."""
        if kind not in self._by_kind:
            # A file that does not hold the word cannot hold the kind, and is not parsed for it.
            word = kind.encode()
            files = self._parsed(lambda path: not is_prose(path) and self._mentions(path, word))
            self._by_kind[kind] = tuple(
                document for loaded in files for document in loaded.documents if _is_enabled(document, kind)
            )
        return self._by_kind[kind]

    def named(self, kind: str) -> Mapping[str, Document]:
        """Return the enabled documents of one kind by `metadata.name`; of a name used twice, the first."""
        if kind not in self._by_name:
            table: dict[str, Document] = {}
            for document in self.documents(kind):
                name = _name(document)
                if name is not None:
                    table.setdefault(name, document)
            self._by_name[kind] = table
        return self._by_name[kind]

    def find(self, kind: str, name: str) -> Document | None:
        """Return the enabled document of that kind and name; of several, the first."""
        # Files that spell the name out come first, so that one lookup does not parse a whole project.
        word = _WORD.match(name.encode())
        for path in self._spelling.get(word[0], ()) if word is not None else ():
            document = self._in_file(path, kind, name)
            if document is not None:
                return document
        path_of = self._names(kind).get(name)
        return None if path_of is None else self._in_file(path_of, kind, name)

    def _in_file(self, path: Path, kind: str, name: str) -> Document | None:
        loaded = self.load(path) if self._mentions(path, kind.encode()) else None
        documents = () if loaded is None else loaded.documents
        return next((each for each in documents if _is_enabled(each, kind) and _name(each) == name), None)

    def spelling(self, name: str) -> tuple[Path, ...]:
        """Return the files that spell a name out, or may; those of prose that hold its letters at all."""
        word = _WORD.match(name.encode())
        prose = (path for path in self.paths if is_prose(path) and self._mentions(path, name.encode()))
        return (*(self._spelling.get(word[0], ()) if word is not None else ()), *prose)

    @cached_property
    def _spelling(self) -> Mapping[bytes, tuple[Path, ...]]:
        """Files by the first words of the names that they spell out."""
        found: dict[bytes, list[Path]] = {}
        for path in self.paths:
            raw = None if is_prose(path) else self._read(path)
            for word in dict.fromkeys(_SPELT.findall(raw)) if raw is not None else ():
                found.setdefault(word, []).append(path)
        return {word: tuple(paths) for word, paths in found.items()}

    def _names(self, kind: str) -> Mapping[str, Path]:
        """Files by the names of their enabled documents of one kind; of a name used twice, the first."""
        if kind not in self._places:
            table: dict[str, Path] = {}
            for path in self.paths:
                for entry in self.entries(path) if not is_prose(path) and self._mentions(path, kind.encode()) else ():
                    if entry.kind == kind and entry.enabled and entry.name is not None:
                        table.setdefault(entry.name, path)
            self._places[kind] = table
        return self._places[kind]

    def hiding(self, name: str) -> tuple[Hiding, ...]:
        """Return the files with a mistake that may be why no document or artifact of that name is found."""
        if name not in self._hiding and len(self._hiding) < MOST_SOUGHT:
            self._hiding[name] = tuple(self._hiding_files(name))
        return self._hiding.get(name, ())

    def _hiding_files(self, name: str) -> Iterator[Hiding]:
        for path in self.paths:
            raw = self._read(path)
            loaded = None if raw is None or not may_mention(raw, name) else self.load(path)
            if raw is None or (loaded is not None and may_hide(loaded, name)):
                yield Hiding(display_name(path), loaded)

    def workflow(self, name: str) -> Document | None:
        """Return the workflow of that name."""
        return self.find("Workflow", name)

    @property
    def presets(self) -> Mapping[str, Document]:
        """The `kind: AgentModel` documents by name."""
        return self.named("AgentModel")

    def preset(self, name: str) -> Document | None:
        """Return the language model of that name."""
        return self.find("AgentModel", name)

    def data_model(self, name: str) -> Document | None:
        """Return the `kind: ModelDefinition` document of that name."""
        return self.find("ModelDefinition", name)

    def data_models(self, name: str) -> tuple[Document, ...]:
        """Return the `kind: ModelDefinition` documents of that name, one for each of its schema versions."""
        return tuple(document for document in self.documents("ModelDefinition") if _name(document) == name)

    def data_source(self, name: str) -> Document | None:
        """Return the `kind: DataSource` document of that name."""
        return self.find("DataSource", name)

    # ---- artifacts and nodes -----------------------------------------------------------------------------------

    @cached_property
    def registry(self) -> ArtifactRegistry:
        """All artifacts of the project."""
        return ArtifactRegistry(self._artifact_views())

    @property
    def artifacts(self) -> Mapping[str, tuple[ArtifactView, ...]]:
        """Artifacts by name, versions ascending, disabled ones included."""
        return self.registry.by_name

    def resolve(self, ref_text: str) -> ArtifactView | None:
        """Return the artifact that `artifact://name[@version]` means; without a version the highest enabled one."""
        return self.registry.resolve(ref_text)

    def _artifact_views(self) -> Iterator[ArtifactView]:
        for loaded in self._parsed(lambda path: is_prose(path) or self._mentions(path, b"Artifact")):
            for document in loaded.documents:
                view: ArtifactView | None = None
                if loaded.prose is not None:
                    view = prose_artifact(document, body=loaded.prose.body, body_line=loaded.prose.body_line)
                elif document.kind == "Artifact" and not is_foreign(document):
                    view = structured_artifact(document)
                if view is not None:
                    yield view

    @cached_property
    def node_paths(self) -> tuple[Path, ...]:
        """The files that may declare custom nodes, sorted."""
        return tuple(sorted(self.folder("nodes").glob("*.py")))

    @cached_property
    def nodes(self) -> NodesView:
        """The custom nodes of the project, read without being imported."""
        from tuvl.analysis.nodes import read_node_file  # parses Python, which most files need not

        folder = self.folder("nodes")
        declared: dict[str, NodeFacts] = {}
        problems: list[NodeProblem] = []
        for path in self.node_paths:
            raw = self._read(path)
            if raw is None:
                continue
            found = read_node_file(raw.decode("utf-8", "replace"), file=display_name(path))
            problems.extend(found.problems)
            for node in found.nodes:
                first = declared.setdefault(node.name, node)
                if first is not node:
                    problems.append(_declared_twice(first, node))
        return NodesView(folder=folder, declared=declared, problems=tuple(problems))


def _declared_twice(first: "NodeFacts", second: "NodeFacts") -> "NodeProblem":
    from tuvl.analysis.nodes import NodeProblem  # see `ProjectIndex.nodes`

    return NodeProblem(
        file=second.file,
        line=second.line,
        column=1,
        message=f"node {second.name!r} is declared twice, first in {first.file!r} line {first.line}",
        hint="give one of them another name",
    )


def _is_enabled(document: Document, kind: str) -> bool:
    switched_off = _mapping(document.data).get("enabled", True) is False
    return document.kind == kind and not switched_off and not is_foreign(document)


def _name(document: Document) -> str | None:
    name = _mapping(_mapping(document.data).get("metadata")).get("name")
    return name if isinstance(name, str) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}
