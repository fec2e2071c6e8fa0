"""The documents that a document refers to, so that validating one file covers what its run will use."""

from collections.abc import Iterator
from typing import Any

from tuvl.analysis.references import artifact_references, judged_assertions
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.artifacts.reference import ArtifactRef
from tuvl.dataclass import dataclass
from tuvl.project.hiding import Hiding, spells_name
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document


@dataclass(frozen=True, slots=True)
class Referred:
    """What a file refers to, directly or through others."""

    files: tuple[LoadedFile, ...]
    """The files that hold it, each once."""
    hiding: tuple[Hiding, ...]
    """Files with a mistake that may hold what is not found, none of them among `files`."""


def referred_files(start: LoadedFile, project: ProjectIndex) -> Referred:
    """Follow the references of a file."""
    files = {start.file: start}
    hiding: dict[str, Hiding] = {}
    pending = [start]
    while pending:
        for document in pending.pop().documents:
            for other in _referred(document, project):
                loaded = project.file_of(other) if isinstance(other, Document) else None
                if isinstance(other, Hiding):
                    hiding.setdefault(other.file, other)
                elif loaded is not None and loaded.file not in files:
                    files[loaded.file] = loaded
                    pending.append(loaded)
    del files[start.file]
    unseen = (one for file, one in hiding.items() if file != start.file and file not in files)
    return Referred(tuple(files.values()), tuple(unseen))


def _referred(document: Document, project: ProjectIndex) -> Iterator[Document | Hiding]:
    data = mapping(document.data)
    for reference in artifact_references(dict(data), document.kind):
        read = ArtifactRef.parse(reference.text) if reference.is_reference else None
        view = project.resolve(reference.text) if read is not None else None
        if view is not None:
            yield view.document
        if read is not None and (view is None or read.version is None):
            # Without a version the highest is meant, which may be the one that cannot be read.
            hiding = project.hiding(read.name)
            yield from (one for one in hiding if view is None or _is_named(one, read.name))
    for kind, name in names_in(data, document.kind):
        if not isinstance(name, str) or not name or "/" in name or "${" in name:
            continue
        other = project.find(kind, name)
        if other is not None:
            yield other
        else:
            yield from project.hiding(name)


def _is_named(hiding: Hiding, name: str) -> bool:
    return hiding.loaded is not None and spells_name(hiding.loaded.text, name)


def names_in(data: Any, kind: str | None) -> Iterator[tuple[str, object]]:
    """Yield kind and name of the other documents that a document names, artifacts aside."""
    spec = mapping(data.get("spec"))
    match kind:
        case "Workflow":
            yield from _names_in_workflow(WorkflowView(data))
        case "Artifact":
            for check in items(spec.get("checks")):
                yield "AgentModel", mapping(check).get("model")
        case "ModelDefinition":
            yield "DataSource", spec.get("datasource")
            for relation in items(spec.get("relations")):
                yield "ModelDefinition", mapping(relation).get("model")
        case "WorkflowTest":
            yield "Workflow", spec.get("workflow")
            for _, entry in judged_assertions(data):
                yield "AgentModel", entry.get("model")
        case "ProjectConfig":
            yield "AgentModel", spec.get("default_model")


def _names_in_workflow(workflow: WorkflowView) -> Iterator[tuple[str, object]]:
    yield "AgentModel", mapping(mapping(workflow.spec.get("supervisor")).get("judge")).get("model")
    for name in _context_models(workflow.spec.get("context")):
        yield "ModelDefinition", name
    for step in workflow.steps:
        match step.kind:
            case "Agent":
                yield "AgentModel", step.agent.get("model")
                yield "AgentModel", mapping(step.agent.get("compaction")).get("model")
            case "Workflow":
                yield "Workflow", step.data.get("workflow")
            case "ModelOp":
                yield "ModelDefinition", step.data.get("model")


def _context_models(value: object) -> Iterator[object]:
    if text(value) is not None:
        yield value
    yield from items(value)
    for entry in items(mapping(value).get("models")):
        yield mapping(entry).get("name")
