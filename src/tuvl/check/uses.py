"""What a file of documents uses: all that its checks look at, beside itself and the project's configuration."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tuvl.analysis.language_models import DEFAULT_MODEL
from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.artifacts.reference import ArtifactRef
from tuvl.check.referred import names_in
from tuvl.project.loading import LoadedFile
from tuvl.project.scripts import script_of

NODE = "node"
ARTIFACT = "Artifact"
FILE = "file"

Named = tuple[str, str]
"""Kind and name of something that a file defines; of a `FILE` it is where it lies, see `file_at`."""


def file_at(path: Path) -> Named:
    """Name a file by where it lies once links are followed, whatever path leads there."""
    return FILE, os.path.realpath(path)


def uses(loaded: LoadedFile, default_model: str = DEFAULT_MODEL) -> Iterator[Named]:
    """Yield what the documents of a file use: other documents, nodes, files; `default_model` is the project's."""
    for document in loaded.documents:
        data = mapping(document.data)
        for reference in artifact_references(dict(data), document.kind):
            read = ArtifactRef.parse(reference.text)
            if read is not None:
                yield ARTIFACT, read.name
        for kind, name in names_in(data, document.kind):
            if isinstance(name, str):
                yield kind, name
        script = script_of(document)
        if script is not None:
            yield file_at(script)
        if document.kind == "Workflow":
            yield from _unnamed(data, default_model)


def _unnamed(workflow: Mapping[str, Any], default_model: str) -> Iterator[Named]:
    """Yield what steps use without the name of a document: Python nodes, and the model of agents that name none."""
    for step in WorkflowView(workflow).steps:
        runner = text(step.data.get("runner"))
        if runner:
            yield NODE, runner
        if step.kind == "Agent" and text(step.agent.get("model")) is None:
            yield "AgentModel", default_model


def defines(loaded: LoadedFile) -> Iterator[Named]:
    """Yield what the documents of a file define."""
    for document in loaded.documents:
        data = mapping(document.data)
        head = data if loaded.prose is not None else mapping(data.get("metadata"))
        kind = ARTIFACT if loaded.prose is not None else document.kind
        name = head.get("name")
        if kind is not None and isinstance(name, str):
            yield kind, name
