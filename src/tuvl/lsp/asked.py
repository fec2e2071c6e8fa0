"""One question of the editor: a position of an open text, and what stands there."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.key_flow import KeyFlow, key_flow
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.dataclass import dataclass
from tuvl.lsp.names import Name, names_in
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.setters import setters_of
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.source.place import Position, Range
from tuvl.source.spot import Spot, spot_at
from tuvl.spec.schema_files import PROSE
from tuvl.values import KeyPath

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


@dataclass(frozen=True)
class Facts:
    """What is known of one document of a project; kept as long as neither changes."""

    document: Document
    kind: str | None
    """The kind whose schema the document is held against."""
    index: ProjectIndex

    @cached_property
    def workflow(self) -> WorkflowView | None:
        """The document as a workflow, when it is one."""
        return workflow_of(self.document)

    @cached_property
    def graph(self) -> RouteGraph | None:
        """The route graph of the workflow, when it is one."""
        return None if self.workflow is None else route_graph(self.workflow, self.index)

    @cached_property
    def keys(self) -> KeyFlow | None:
        """The flow of context keys, when it can be followed."""
        return None if self.graph is None else key_flow(self.graph, self.index)

    @cached_property
    def setters(self) -> Mapping[str, list[KeyPath]]:
        """Context key → the places of the workflow that set it."""
        return {} if self.workflow is None else setters_of(self.workflow, self.index)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """All names of the document."""
        return tuple(names_in(self.document.data, self.kind))


@dataclass(frozen=True)
class Asked:
    """A position of a file, and the project around it."""

    buffer: Buffer
    position: Position
    index: ProjectIndex
    facts: Facts | None
    """The document that the position is in; `None` where there is none."""

    @property
    def document(self) -> Document | None:
        """The document that the position is in."""
        return None if self.facts is None else self.facts.document

    @property
    def kind(self) -> str | None:
        """The kind whose schema the document is held against."""
        return None if self.facts is None else self.facts.kind

    @property
    def workflow(self) -> WorkflowView | None:
        """The document as a workflow, when it is one."""
        return None if self.facts is None else self.facts.workflow

    @property
    def names(self) -> tuple[Name, ...]:
        """All names of the document."""
        return () if self.facts is None else self.facts.names

    @cached_property
    def spot(self) -> Spot | None:
        """What stands at the position."""
        return None if self.document is None else spot_at(self.document, self.position)

    @property
    def step(self) -> StepView | None:
        """The step that the position is in."""
        return None if self.workflow is None or self.spot is None else step_at(self.workflow, self.spot)

    @cached_property
    def name(self) -> Name | None:
        """The name at the position."""
        spot = self.spot
        if spot is None or not spot.is_scalar:
            return None
        identifier = self.identifier
        if identifier is not None:
            key = identifier[1].split(".")[0]
            return Name(role="key", text=key, path=spot.path, step=self.step.id if self.step else "")
        here = [name for name in self.names if name.path == spot.path and name.at_key == spot.on_key]
        # Where a place both makes and names something, what it names is meant.
        return min(here, key=lambda name: name.defines, default=None) or self._set_here(spot)

    def _set_here(self, spot: Spot) -> Name | None:
        """The context key that a field sets."""
        for key, paths in self.facts.setters.items() if self.facts else ():
            if spot.path in paths and spot.on_key == (spot.path[-1] == key):
                return Name(role="key", text=key, path=spot.path, at_key=spot.on_key, defines=True)
        return None

    @cached_property
    def identifier(self) -> tuple[Range, str] | None:
        """The dotted name at the position, when that is inside of `{{ }}`, and where it stands."""
        line = self.buffer.content.line(self.position.line)
        column = self.position.column - 1
        opened, closed = line.rfind("{{", 0, column + 1), line.rfind("}}", 0, column)
        if opened < 0 or closed > opened or line.find("}}", opened) < column:
            return None
        for found in _IDENTIFIER.finditer(line, opened):
            if found.start() <= column <= found.end():
                return Range.at(self.position.line, found.start() + 1, len(found[0])), found[0]
        return None

    @property
    def name_place(self) -> Range | None:
        """Where the name at the position stands."""
        return self.identifier[0] if self.identifier else self.spot.place if self.spot else None


def document_at(loaded: LoadedFile, position: Position) -> Document | None:
    """The document of a file that a position is in: the last one that begins before it, else the first."""
    found = loaded.documents[0] if loaded.documents else None
    for document in loaded.documents:
        if document.locate(()).start.line <= position.line:
            found = document
    return found


def kind_of(loaded: LoadedFile, document: Document) -> str | None:
    """The kind whose schema a document is held against."""
    return PROSE if loaded.prose is not None else document.kind


def workflow_of(document: Document | None) -> WorkflowView | None:
    """A document as a workflow, when it is one."""
    return None if document is None or document.kind != "Workflow" else WorkflowView(mapping(document.data))


def step_at(workflow: WorkflowView, spot: Spot) -> StepView | None:
    """The step that a spot is in."""
    if spot.path[:2] != ("spec", "steps") or len(spot.path) < 3:
        return None
    return next((step for step in workflow.steps if step.index == spot.path[2]), None)


def place_of(document: Document, name: Name) -> Range:
    """Where a name stands."""
    return document.locate(name.path, key=name.at_key)


def documents_of(index: ProjectIndex, kinds: tuple[str, ...]) -> Iterator[tuple[LoadedFile, Document]]:
    """Yield the enabled documents of some kinds, with the file each stands in."""
    for kind in kinds:
        for document in index.documents(kind):
            loaded = index.file_of(document)
            if loaded is not None:
                yield loaded, document
