"""One scenario as it was found, and the search for them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.analysis.surroundings import hidden
from tuvl.check.belonging import is_ours
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.hiding import is_broken, is_foreign_text
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.spec.build import build
from tuvl.spec.scenario import WorkflowTest, WorkflowTestSpec
from tuvl.spec.schema_files import KINDS

KIND = "WorkflowTest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A `kind: WorkflowTest` document; what it holds is read when it is run."""

    document: Document

    @property
    def name(self) -> str:
        """`metadata.name`, or a stand-in."""
        return text(mapping(mapping(self.document.data).get("metadata")).get("name")) or "<unnamed>"

    @property
    def workflow(self) -> str:
        """Name of the workflow it tests; empty when it says none."""
        return text(mapping(mapping(self.document.data).get("spec")).get("workflow")) or ""

    @property
    def folder(self) -> Path:
        """Folder of its file, from which scripts are found."""
        return Path(self.document.file).parent

    def spec(self) -> WorkflowTestSpec:
        """Read the contract; raises `ConfigError` for a document that `validate` refuses."""
        built = build(self.document)
        if not isinstance(built, WorkflowTest):
            raise TypeError(f"{self.document.file} is no {KIND}")
        return built.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What paths stand for: scenarios in the order of files and lines, and the workflows they are about."""

    scenarios: tuple[Scenario, ...]
    workflows: tuple[str, ...]


def find_scenarios(project: ProjectIndex, paths: Sequence[Path]) -> Found:
    """Find the scenarios of the project, or those under paths.

    A workflow file stands for the scenarios that test it. Raises `UsageError` for a path that is not there, or a file
    that holds neither.
    """
    scenarios = [Scenario(document=document) for document in project.documents(KIND)]
    workflows = sorted(project.named("Workflow"))
    if not paths:
        return Found(scenarios=tuple(scenarios), workflows=tuple(workflows))
    below = tuple(path.resolve() for path in _existing(paths))
    named = {
        name
        for name in workflows
        if (document := project.workflow(name)) is not None and _is_below(Path(document.file), below)
    }
    kept = [each for each in scenarios if each.workflow in named or _is_below(Path(each.document.file), below)]
    for path, full in zip(paths, below, strict=True):
        if full.is_file() and not (_holds_any(full, kept, named, project) or hides(project.load(full))):
            raise UsageError(f"{str(path)!r} holds no enabled `kind: {KIND}`, and no workflow of this project")
    named |= {each.workflow for each in kept if each.workflow in workflows}
    return Found(scenarios=tuple(kept), workflows=tuple(sorted(named)))


def hides(loaded: LoadedFile | None) -> bool:
    """Tell whether what a file holds cannot be told: it cannot be read, is no YAML, or its kind is misspelt."""
    if loaded is None:
        return True
    if is_broken(loaded):
        return not is_foreign_text(loaded)
    return any(is_ours(document, named=False) and document.kind not in KINDS for document in loaded.documents)


def select(found: Found, names: Sequence[str], project: ProjectIndex) -> Found:
    """Keep the scenarios of these names; raises `UsageError` for a name that none has."""
    if not names:
        return found
    known = {each.name for each in found.scenarios}
    for name in names:
        if name not in known:
            listed = f"there are: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"--select names {name!r}, which no scenario is called; {hidden(name, project) or listed}")
    kept = tuple(each for each in found.scenarios if each.name in names)
    tested = {each.workflow for each in kept}
    return Found(scenarios=kept, workflows=tuple(name for name in found.workflows if name in tested))


def _existing(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no file or folder {str(path)!r}")
        yield path


def _is_below(file: Path, folders: Sequence[Path]) -> bool:
    full = file.resolve()
    return any(full == folder or folder in full.parents for folder in folders)


def _holds_any(file: Path, kept: Sequence[Scenario], named: set[str], project: ProjectIndex) -> bool:
    files = [each.document.file for each in kept]
    files += [document.file for name in named if (document := project.workflow(name)) is not None]
    return any(Path(each).resolve() == file for each in files)


def view_of(project: ProjectIndex, workflow: str) -> WorkflowView | None:
    """Return a workflow of the project as analysis sees it."""
    document = project.workflow(workflow)
    return None if document is None else WorkflowView(mapping(document.data))
