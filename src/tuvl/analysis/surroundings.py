"""What the analysis of one workflow asks of the project around it."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from tuvl.analysis.nodes import NodeFacts, NodeProblem
from tuvl.analysis.steps import mapping
from tuvl.dataclass import dataclass
from tuvl.values import JsonValue


class ArtifactFacts(Protocol):
    """One artifact, found by a reference."""

    @property
    def type(self) -> str:
        """`prompt`, `steering`, `skill`, `guardrail`, `hook` or `mcp`."""

    @property
    def data(self) -> Mapping[str, Any]:
        """The artifact's document, or its front matter."""

    @property
    def body(self) -> str | None:
        """The text of a prose artifact; `None` for a structured one."""

    @property
    def template(self) -> bool:
        """Whether the body is rendered with the workflow's context."""


class NodesFacts(Protocol):
    """The custom nodes of a project."""

    @property
    def declared(self) -> Mapping[str, NodeFacts]:
        """Node name → what it declares."""

    @property
    def problems(self) -> tuple[NodeProblem, ...]:
        """What is wrong with the node files."""


class DocumentFacts(Protocol):
    """One document of the project."""

    @property
    def data(self) -> JsonValue:
        """What it holds."""


class HidingFacts(Protocol):
    """A file with a mistake that may hide a document."""

    @property
    def file(self) -> str:
        """How messages call it."""


class Surroundings(Protocol):
    """The project, as far as the facts about one workflow depend on it. Asked only when the workflow refers to it."""

    @property
    def nodes(self) -> NodesFacts:
        """The custom nodes."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The ProjectConfig document, empty without one."""

    def resolve(self, reference: str, /) -> ArtifactFacts | None:
        """Find the artifact a reference names."""

    def workflow(self, name: str, /) -> DocumentFacts | None:
        """Find the `kind: Workflow` document of that name."""

    def data_model(self, name: str, /) -> DocumentFacts | None:
        """Find the `kind: ModelDefinition` document of that name."""

    def preset(self, name: str, /) -> DocumentFacts | None:
        """Find the `kind: AgentModel` document of that name."""

    def hiding(self, name: str, /) -> Sequence[HidingFacts]:
        """Find the files with a mistake that may be why nothing of that name is found."""


@dataclass(frozen=True, slots=True)
class _NoNodes:
    declared: Mapping[str, NodeFacts] = field(default_factory=dict)
    problems: tuple[NodeProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Alone:
    """Surroundings of a workflow that is looked at by itself: no nodes, no artifacts, no configuration."""

    nodes: _NoNodes = field(default_factory=_NoNodes)
    config: Mapping[str, Any] = field(default_factory=dict)

    def resolve(self, reference: str, /) -> ArtifactFacts | None:
        """Find nothing."""
        return None

    def workflow(self, name: str, /) -> DocumentFacts | None:
        """Find nothing."""
        return None

    def data_model(self, name: str, /) -> DocumentFacts | None:
        """Find nothing."""
        return None

    def preset(self, name: str, /) -> DocumentFacts | None:
        """Find nothing."""
        return None

    def hiding(self, name: str, /) -> Sequence[HidingFacts]:
        """Find nothing."""
        return ()


ALONE = Alone()


def hidden(name: str, project: Surroundings) -> str | None:
    """Say in which file a document that is not found may stand; `None` when no mistake of a file hides it."""
    return mend_first(project.hiding(name))


def mend_first(files: Sequence[HidingFacts]) -> str | None:
    """Say that a file hides what is not found, and what to do; `None` when there is none that may."""
    return None if not files else f"{files[0].file!r} has a mistake that may hide it; mend that file first"


def spec_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `spec:` of a document, or the mapping itself when it has none (front matter, say)."""
    return mapping(document.get("spec")) if "spec" in document else document
