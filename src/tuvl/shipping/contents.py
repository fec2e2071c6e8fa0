"""What of a project its workflows need, and nothing else: the files that go into a bundle."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tuvl.analysis.language_models import DEFAULT_MODEL
from tuvl.analysis.reference_faults import called_workflows
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.check.referred import referred_files
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.locking.lock import LOCK_NAME
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute
from tuvl.project.loading import LoadedFile, display_name, read_file
from tuvl.project.node_files import code_files
from tuvl.project.pyproject import FILE as PYPROJECT
from tuvl.project.scripts import script_of
from tuvl.source.document import Document

REQUIREMENTS = "requirements.txt"
"""What the Python nodes of a project, and the MCP servers it starts, need, as pip reads it."""

_KEY_FILE = re.compile(r"(?i).*\.(pem|key|p12|pfx|jks|keystore)|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.json)?")
"""Names of files that hold keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What goes into a bundle."""

    files: Mapping[str, bytes]
    """By path from the project's root, with `/` between folders."""
    workflows: tuple[Document, ...]
    workflow_files: Mapping[str, str]
    """Name of a workflow → path of its file."""
    documents: tuple[Document, ...]
    """Every document that is switched on in the files."""
    checked: frozenset[str]
    """The files that hold documents, which the checks have read."""
    node_files: frozenset[str]
    node_folder: str


@dataclass(slots=True)
class _Collected:
    project: ProjectIndex
    files: dict[str, bytes] = field(default_factory=dict)
    loaded: dict[str, LoadedFile] = field(default_factory=dict)

    def add(self, path: Path) -> str:
        """Add a file as it is; returns its path from the root."""
        name = path_in_bundle(path, self.project.root)
        if name not in self.files:
            self.files[name] = read_file(path)
        return name

    def add_loaded(self, loaded: LoadedFile) -> bool:
        """Add a file of documents; returns whether it is new."""
        if loaded.file in self.loaded:
            return False
        self.loaded[loaded.file] = loaded
        self.add(loaded.path)
        return True

    def add_with_referred(self, loaded: LoadedFile) -> None:
        """Add a file of documents, and those it refers to, through others too."""
        self.add_loaded(loaded)
        for other in referred_files(loaded, self.project).files:
            self.add_loaded(other)


def collect(project: ProjectIndex, include: Sequence[str] = (), *, only: Document | None = None) -> Contents:
    """Collect the workflows of a project that are switched on, with all they need.

    Args:
        project: The project, checked before.
        include: Further files and folders, relative to the root, which nodes read.
        only: The one workflow that is wanted, with those it runs inside.

    Raises:
        UsageError: There is no workflow; a file lies outside the project, leads out of it by a link, cannot be read,
            or is one that no bundle takes.
    """
    workflows = tuple(project.named("Workflow").values()) if only is None else (only, *_inside(only, project))
    if not workflows:
        raise UsageError(f"the project {project.relative(project.root)!r} has no workflow to ship")
    collected = _Collected(project)
    for document in (*workflows, *_unnamed(workflows, project), *_of_nodes(workflows, project)):
        loaded = project.file_of(document)
        if loaded is not None:
            collected.add_with_referred(loaded)
    if project.config_file is not None:
        collected.add_with_referred(project.config_file)
    _add_versions(collected)
    _add_scripts(collected)
    node_files = frozenset(collected.add(path) for path in _node_files(workflows, project))
    wants_packages = node_files or any(map(_starts_a_program, collected.loaded.values()))
    for name in (LOCK_NAME, *([REQUIREMENTS] if wants_packages else [])):
        if os.path.lexists(project.root / name):
            collected.add(project.root / name)
    if project.tool_table is not None:
        collected.add(project.root / PYPROJECT)
    for path in _included(project.root, include):
        collected.add(path)
    return Contents(
        files=dict(sorted(collected.files.items())),
        workflows=workflows,
        workflow_files={WorkflowView(mapping(one.data)).name: _path_of(one, project) for one in workflows},
        documents=tuple(
            document
            for _, loaded in sorted(collected.loaded.items())
            for document in loaded.documents
            if mapping(document.data).get("enabled", True) is not False
        ),
        checked=frozenset(path_in_bundle(loaded.path, project.root) for loaded in collected.loaded.values()),
        node_files=node_files,
        node_folder=_relative(project.folder("nodes"), project.root),
    )


def _inside(workflow: Document, project: ProjectIndex) -> Iterator[Document]:
    """Yield the workflows that one runs as steps, at any depth."""
    ahead, seen = [workflow], set[str]()
    while ahead:
        for _, name in called_workflows(WorkflowView(mapping(ahead.pop().data))):
            called = project.workflow(name) if name not in seen else None
            seen.add(name)
            if called is not None:
                ahead.append(called)
                yield called


def path_in_bundle(path: Path, root: Path) -> str:
    """Return the path of a project's file in a bundle.

    Raises `UsageError` for a file outside of the root, one that a link leads out of it, one behind a folder or a name
    that begins with a dot, one that is named as keys are, and one whose name is no UTF-8.
    """
    inside = _relative(absolute(path), root)
    _refuse_unwritable(path, inside)
    _refuse_outside(str(path), inside, "lies")
    _refuse_private(str(path), inside)
    real = _relative(Path(os.path.realpath(path)), Path(os.path.realpath(root)))
    _refuse_outside(str(path), real, "leads")
    _refuse_private(str(path), real)
    return inside


def _refuse_unwritable(path: Path, name: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            f"the name of '{display_name(path)}' is no UTF-8, and a bundle's manifest is; give the file another name"
        ) from None


def _refuse_outside(shown: str, name: str, how: str) -> None:
    if name.split("/")[0] in ("", ".."):
        raise UsageError(f"{shown!r} {how} outside of the project, so it cannot be shipped; copy it into the project")


def _refuse_private(shown: str, name: str) -> None:
    parts = name.split("/")
    if any(part.startswith(".") for part in parts) or _KEY_FILE.fullmatch(parts[-1]):
        where = "" if shown.endswith(name) else f", which is {name!r},"
        raise UsageError(f"{shown!r}{where} may hold secrets, so it is not shipped; let the environment give them")


def _relative(path: Path, root: Path) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _path_of(document: Document, project: ProjectIndex) -> str:
    loaded = project.file_of(document)
    return "" if loaded is None else path_in_bundle(loaded.path, project.root)


def _unnamed(workflows: Sequence[Document], project: ProjectIndex) -> Iterator[Document]:
    """Yield the model of agents that name none."""
    agents = [step for one in workflows for step in WorkflowView(mapping(one.data)).steps if step.kind == "Agent"]
    preset = project.preset(DEFAULT_MODEL)
    if preset is not None and any(text(step.agent.get("model")) is None for step in agents):
        yield preset


def _of_nodes(workflows: Sequence[Document], project: ProjectIndex) -> Iterator[Document]:
    """Yield what the session of Python nodes is made from, where there are any."""
    if any(True for _ in _runners(workflows, project)):
        yield from project.documents("DataSource")
        yield from project.documents("ModelDefinition")


def _runners(workflows: Sequence[Document], project: ProjectIndex) -> Iterator[str]:
    for one in workflows:
        for step in WorkflowView(mapping(one.data)).steps:
            runner = text(step.data.get("runner"))
            if runner is not None and runner in project.nodes.declared:
                yield runner


def _starts_a_program(loaded: LoadedFile) -> bool:
    specs = (
        mapping(mapping(document.data).get("spec")) for document in loaded.documents if document.kind == "Artifact"
    )
    return any(spec.get("type") == "mcp" and spec.get("transport") == "stdio" for spec in specs)


def _node_files(workflows: Sequence[Document], project: ProjectIndex) -> Iterator[Path]:
    """Yield all Python files of the nodes' folder, where a step uses one: they may import each other."""
    if next(_runners(workflows, project), None) is None:
        return
    yield from code_files(project.folder("nodes"))


def _add_versions(collected: _Collected) -> None:
    """Add the other schema versions of data models: a lookup goes over all of them."""
    for loaded in tuple(collected.loaded.values()):
        for document in loaded.documents:
            if document.kind != "ModelDefinition":
                continue
            name = text(mapping(mapping(document.data).get("metadata")).get("name"))
            for other in collected.project.data_models(name) if name is not None else ():
                file = collected.project.file_of(other)
                if file is not None:
                    collected.add_with_referred(file)


def _add_scripts(collected: _Collected) -> None:
    for loaded in tuple(collected.loaded.values()):
        for document in loaded.documents:
            script = script_of(document)
            if script is not None:
                collected.add(script)


def _included(root: Path, include: Sequence[str]) -> Iterator[Path]:
    for name in include:
        path = root / name
        if path.is_dir():
            for folder, folders, files in os.walk(path):
                folders[:] = sorted(each for each in folders if not each.startswith(".") and each != "__pycache__")
                yield from (Path(folder) / each for each in sorted(files) if not each.startswith("."))
        elif path.exists():
            yield path
        else:
            raise UsageError(f"--include names {name!r}, which is not in the project")
