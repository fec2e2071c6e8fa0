"""Which files of a project a change touches: those that changed, and those that use what they define, transitively."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tuvl.analysis.nodes import read_node_file
from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.artifacts.reference import ArtifactRef
from tuvl.check.referred import names_in
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import MISSPELT_FILE, PROJECT_FILE, YAML_SUFFIXES, is_prose
from tuvl.project.loading import LoadedFile, display_name, parse_markdown, parse_yaml
from tuvl.project.pyproject import FILE as PYPROJECT

_NODE = "node"
_ARTIFACT = "Artifact"
_WHOLE_PROJECT = frozenset({PROJECT_FILE, MISSPELT_FILE, PYPROJECT})

Named = tuple[str, str]
"""Kind and name of something that a file defines."""


def touched_files(index: ProjectIndex, before: Mapping[Path, bytes | None]) -> frozenset[str]:
    """Return the files a change touches, as messages call them.

    `before` holds what changed: path → what the file held before, `None` for a new one. A change of the project's
    configuration touches everything.
    """
    changed = {display_name(path) for path in before}
    if any(path.parent == index.root and path.name in _WHOLE_PROJECT for path in before):
        return frozenset(changed | {display_name(path) for path in index.paths})
    names = {name for path, old in before.items() for name in _defined(path, old, index)}
    return frozenset(changed | _users(index, names))


def _users(index: ProjectIndex, names: set[Named]) -> set[str]:
    """Return the files that use one of the names, or something that a file that does defines."""
    users: dict[Named, list[str]] = {}
    defined: dict[str, tuple[Named, ...]] = {}
    for path in index.paths:
        loaded = index.load(path)
        if loaded is not None:
            defined[loaded.file] = tuple(_defines(loaded))
            for name in _used(loaded):
                users.setdefault(name, []).append(loaded.file)
        index.shed()
    found: set[str] = set()
    pending = list(names)
    while pending:
        for file in users.get(pending.pop(), ()):
            if file not in found:
                found.add(file)
                pending.extend(defined[file])
    return found


def _used(loaded: LoadedFile) -> Iterator[Named]:
    for document in loaded.documents:
        data = mapping(document.data)
        for reference in artifact_references(dict(data), document.kind):
            read = ArtifactRef.parse(reference.text)
            if read is not None:
                yield _ARTIFACT, read.name
        for kind, name in names_in(data, document.kind):
            if isinstance(name, str):
                yield kind, name
        if document.kind == "Workflow":
            for step in WorkflowView(data).steps:
                runner = text(step.data.get("runner"))
                if runner:
                    yield _NODE, runner


def _defines(loaded: LoadedFile) -> Iterator[Named]:
    for document in loaded.documents:
        data = mapping(document.data)
        head = data if loaded.prose is not None else mapping(data.get("metadata"))
        kind = _ARTIFACT if loaded.prose is not None else document.kind
        name = head.get("name")
        if kind is not None and isinstance(name, str):
            yield kind, name


def _defined(path: Path, old: bytes | None, index: ProjectIndex) -> Iterable[Named]:
    """Yield what a file that changed defined before, and what it defines now."""
    if path.suffix == ".py":
        now = path.read_bytes() if path.is_file() else None
        return [(_NODE, node) for raw in (old, now) if raw is not None for node in _nodes(raw)]
    if path.suffix.lower() not in YAML_SUFFIXES and not is_prose(path):
        return []
    parse = parse_markdown if is_prose(path) else parse_yaml
    versions = [parse(path, old) if old is not None else None, index.load(path) if path.is_file() else None]
    return [name for loaded in versions if loaded is not None for name in _defines(loaded)]


def _nodes(raw: bytes) -> Iterator[str]:
    return (node.name for node in read_node_file(raw.decode("utf-8", "replace"), file="").nodes)
