"""Finds the workflow that a command names, by file or by name, and the project around it."""

from pathlib import Path

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.surroundings import hidden
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.hiding import is_foreign
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.project.loading import LoadedFile
from tuvl.shipping.mark import is_bundle
from tuvl.source.document import Document
from tuvl.suggest import did_you_mean

_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A workflow and its project. `document` is `None` when the file is too broken to hold one."""

    project: ProjectIndex
    file: Path
    document: Document | None
    bundle: Path | None = None
    """The bundle that it was taken from, if so; `file` is that, too."""


def locate(workflow: str, *, project: str | None) -> Located:
    """Find a workflow: a path to its file, or the name of one in the project of the working directory.

    Raises `UsageError` when there is no such file or name, and when a file holds no workflow or several.
    """
    path = Path(workflow)
    if path.is_dir():
        inside = path / "workflows" if (path / "workflows").is_dir() else path
        raise UsageError(f"{workflow!r} is a folder; name a workflow file, e.g. {inside / 'NAME.yaml'}")
    if is_bundle(path):
        from tuvl.cli.pasted import command  # most of what is named is no bundle

        unpacks = command("unzip", workflow)
        hint = f"`{unpacks}`, and name a file below its folder `project`; `run` and `validate` take bundles"
        raise UsageError(f"{workflow!r} is a bundle, and this command takes files: {hint}")
    if path.exists() or path.suffix.lower() in _YAML or len(path.parts) > 1:
        return _in_file(path, ProjectIndex(_root(project, path)))
    return _by_name(workflow, ProjectIndex(_root(project, Path.cwd())))


def document_of(located: Located) -> Document:
    """Return the workflow that was located; raises `UsageError` where its file is too broken to hold one."""
    if located.document is None:
        from tuvl.cli.pasted import command  # most files hold one

        says_why = command("tuvl", "validate", located.file)
        raise UsageError(f"{str(located.file)!r} cannot be read as YAML; `{says_why}` says why")
    return located.document


def _root(project: str | None, beside: Path) -> Path:
    if project is None:
        return find_root(beside)
    folder = Path(project)
    if not folder.is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    return folder


def _in_file(path: Path, project: ProjectIndex) -> Located:
    loaded = project.load(path)
    if loaded is None:
        raise UsageError(project.unreadable[-1])
    found = _workflows(loaded)
    if len(found) > 1:
        names = ", ".join(repr(WorkflowView(mapping(document.data)).name) for document in found)
        raise UsageError(f"{str(path)!r} holds {len(found)} workflows, {names}; name one of them instead of the file")
    if not found and not loaded.problems:
        raise UsageError(f"{str(path)!r} holds no `kind: Workflow`")
    document = found[0] if found else None
    if document is not None and mapping(document.data).get("enabled") is False:
        raise UsageError(f"the workflow in {str(path)!r} is switched off by `enabled: false`")
    return Located(project=project, file=path, document=document)


def _workflows(loaded: LoadedFile) -> list[Document]:
    return [document for document in loaded.documents if document.kind == "Workflow" and not is_foreign(document)]


def _by_name(name: str, project: ProjectIndex) -> Located:
    document = project.workflow(name)
    if document is None:
        known = sorted(project.named("Workflow"))
        hint = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
        hint = hidden(name, project) or hint
        where = project.relative(project.root)
        raise UsageError(f"there is no file {name!r}, and no workflow of that name in the project {where!r}; {hint}")
    return Located(project=project, file=Path(document.file), document=document)
