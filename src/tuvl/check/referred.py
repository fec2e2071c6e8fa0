"""The documents that a document refers to, so that validating one file covers what its run will use."""

from collections.abc import Iterator
from typing import Any

from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document


def referred_files(start: LoadedFile, project: ProjectIndex) -> Iterator[LoadedFile]:
    """Yield the files that the documents of `start` refer to, directly or through others, each once."""
    seen = {start.file}
    pending = [start]
    while pending:
        for document in pending.pop().documents:
            for other in _referred(document, project):
                loaded = project.file_of(other)
                if loaded is not None and loaded.file not in seen:
                    seen.add(loaded.file)
                    pending.append(loaded)
                    yield loaded


def _referred(document: Document, project: ProjectIndex) -> Iterator[Document]:
    data = mapping(document.data)
    for reference in artifact_references(dict(data), document.kind):
        view = project.resolve(reference.text) if reference.is_reference else None
        if view is not None:
            yield view.document
    for kind, name in names_in(data, document.kind):
        found = project.find(kind, name) if isinstance(name, str) else None
        if found is not None:
            yield found


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
