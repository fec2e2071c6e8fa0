"""Where a name leads, and who else names it."""

from collections.abc import Iterator

from tuvl.artifacts.reference import ArtifactRef
from tuvl.dataclass import dataclass
from tuvl.lsp.asked import Asked, documents_of, kind_of, place_of, workflow_of
from tuvl.lsp.key_places import reading_places, setting_places
from tuvl.lsp.names import Name, names_in
from tuvl.source.document import Document
from tuvl.source.place import Range
from tuvl.spec.schema_files import KINDS
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a file of the project, by the name messages give the file."""

    file: str
    place: Range


def targets_of(name: Name, asked: Asked) -> list[Target]:
    """Where what a name means is made; for a context key every place that sets it."""
    return list(_targets(name, asked))


def _targets(name: Name, asked: Asked) -> Iterator[Target]:
    index, document = asked.index, asked.document
    match name.role:
        case "step":
            home = document if name.workflow is None else index.workflow(name.workflow)
            workflow = workflow_of(home)
            step = workflow.by_id.get(name.text) if workflow is not None else None
            if home is not None and step is not None:
                yield Target(home.file, home.locate((*step.path, "id")))
        case "artifact":
            view = index.resolve(name.text)
            if view is not None:
                yield Target(view.file, view.document.locate(_name_path(view.document)))
        case "node":
            node = index.nodes.declared.get(name.text)
            if node is not None:
                yield Target(node.file, Range.at(node.line, 1))
        case "key" if document is not None and asked.workflow is not None:
            for path in asked.facts.setters.get(name.text, ()) if asked.facts else ():
                yield Target(document.file, document.locate(path, key=path[-1] == name.text))
        case "signal" if document is not None:
            made = (one for one in asked.names if one.role == "signal" and one.step == name.step and not one.at_key)
            yield from (Target(document.file, place_of(document, one)) for one in made if one.text == name.text)
        case "Workflow" | "AgentModel" | "ModelDefinition" | "DataSource":
            other = index.find(name.role, name.text)
            if other is not None:
                yield Target(other.file, other.locate(("metadata", "name")))
        case _:
            return


def _name_path(document: Document) -> KeyPath:
    return ("metadata", "name") if document.kind == "Artifact" else ("name",)


def uses_of(name: Name, asked: Asked, *, declaration: bool = True) -> list[Target]:
    """Every place of the project that names what a name means, in the order of the files."""
    found = [
        Target(document.file, place_of(document, other))
        for document, other in _namesakes(name, asked)
        if declaration or not other.defines
    ]
    if name.role == "key":
        found += _key_places(name.text, asked, declaration=declaration)
    return list(dict.fromkeys(sorted(found, key=lambda target: (target.file, target.place))))


def _key_places(key: str, asked: Asked, *, declaration: bool) -> Iterator[Target]:
    document, workflow = asked.document, asked.workflow
    if document is None or workflow is None:
        return
    setting = list(setting_places(key, document, workflow, asked.index))
    for found in (*(setting if declaration else ()), *reading_places(key, document, workflow, asked.index)):
        if declaration or found not in setting:
            yield Target(*found)


def _namesakes(name: Name, asked: Asked) -> Iterator[tuple[Document, Name]]:
    if asked.document is None:
        return
    if name.role == "key":
        return
    if name.role in ("step", "signal"):
        home = asked.document if name.workflow is None else asked.index.workflow(name.workflow)
        yield from _in_workflow(name, home, asked)
        return
    wanted = _meant(name)
    for loaded, document in documents_of(asked.index, KINDS):
        for other in names_in(document.data, kind_of(loaded, document)):
            if other.role == name.role and _meant(other) == wanted:
                yield document, other
    for views in asked.index.artifacts.values():
        for view in views:
            if name.role == "artifact" and view.name == wanted and view.document.kind != "Artifact":
                yield view.document, Name(role="artifact", text=view.name, path=("name",), defines=True)


def _in_workflow(name: Name, home: Document | None, asked: Asked) -> Iterator[tuple[Document, Name]]:
    workflow = workflow_of(home)
    if home is None or workflow is None:
        return
    for other in names_in(home.data, home.kind):
        if other.role == name.role and other.text == name.text and (name.role != "signal" or other.step == name.step):
            yield home, other
    if name.role == "step":
        for _, document in documents_of(asked.index, ("WorkflowTest",)):
            for other in names_in(document.data, document.kind):
                if other.role == "step" and other.workflow == workflow.name and other.text == name.text:
                    yield document, other


def _meant(name: Name) -> str:
    """The name of an artifact without its version; any other name as it is."""
    read = ArtifactRef.parse(name.text) if name.role == "artifact" else None
    return name.text if read is None else read.name
