"""The base of all rules, and what a rule gets to see."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

from tuvl.analysis.context import Keys, input_keys, keys_of_steps
from tuvl.analysis.envelope import Envelope, envelope
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.key_flow import KeyFlow, key_flow
from tuvl.analysis.router_signals import RouterSignals
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.analysis.taint import Taint, taint_of
from tuvl.analysis.value_sizes import ValueSizes
from tuvl.check.finding import Finding, Severity
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.source.place import Range
from tuvl.values import KeyPath, format_path

Phase: TypeAlias = Literal["validate", "ship"]
"""When a check runs: in every validation, or only before a project is shipped."""


@dataclass(frozen=True)
class Subject:
    """One document under check, and the project around it."""

    document: Document
    project: ProjectIndex
    loaded: LoadedFile | None = None
    """The file it stands in, for checks that look at text."""

    @property
    def kind(self) -> str | None:
        """The document's `kind:`, when it is text."""
        return self.document.kind

    @cached_property
    def workflow(self) -> WorkflowView | None:
        """The document as a workflow, when it is one."""
        return WorkflowView(mapping(self.document.data)) if self.kind == "Workflow" else None

    @cached_property
    def graph(self) -> RouteGraph:
        """The route graph of the workflow; only for documents that are workflows."""
        if self.workflow is None:
            raise TypeError(f"{self.document.file} is no workflow")
        return route_graph(self.workflow, self.project)

    @cached_property
    def worst_case(self) -> Envelope:
        """What one run uses at most; only for documents that are workflows."""
        return envelope(self.graph.workflow, self.project, graph=self.graph)

    @cached_property
    def step_keys(self) -> Keys:
        """The context keys that steps of the workflow may write; only for documents that are workflows."""
        return keys_of_steps(self.graph.workflow, self.project)

    @cached_property
    def context_keys(self) -> Keys:
        """Every key the context may have at any time: the input's, and what steps of the workflow write."""
        return input_keys(self.graph.workflow) | self.step_keys

    @cached_property
    def keys(self) -> KeyFlow | None:
        """The flow of context keys through the workflow; `None` when it has no beginning or cannot be followed."""
        return key_flow(self.graph, self.project)

    @cached_property
    def routers(self) -> RouterSignals | None:
        """What the routers of the workflow can return; `None` when its keys cannot be followed."""
        return RouterSignals(self.keys) if self.keys is not None else None

    @cached_property
    def sizes(self) -> ValueSizes | None:
        """How long values of the workflow are at most; `None` when its keys cannot be followed."""
        return ValueSizes(self.keys) if self.keys is not None else None

    @cached_property
    def taint(self) -> Taint | None:
        """The flow of untrusted text through the workflow; `None` when it cannot be followed."""
        return taint_of(self.keys, self.project) if self.keys is not None else None


class Rule:
    """One check. The class docstring is its page: what it finds in the first paragraph, why it hurts in the second.

    A rule is stateless, does no I/O, and overrides the visits it needs; the runner calls only those.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    phase: ClassVar[Phase] = "validate"

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at any document."""
        return iter(())

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at a workflow as a whole."""
        return iter(())

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at one step."""
        return iter(())

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at one step of kind `Agent` whose `agent:` is a mapping."""
        return iter(())

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Look at the project as a whole; called once, when a project or folder is validated."""
        return iter(())

    def finding(
        self,
        subject: Subject | Document,
        path: KeyPath,
        message: str,
        *,
        hint: str | None = None,
        at_key: bool = False,
        severity: Severity | None = None,
        replacement: str | None = None,
    ) -> Finding:
        """Make a finding at a key path; `at_key` points at the key instead of its value.

        `replacement` is the name or text to put there instead, when nothing else can be meant.
        """
        document = subject.document if isinstance(subject, Subject) else subject
        place = document.locate(path, key=at_key)
        return self.finding_at(
            document.file, place, message, hint=hint, path=path, severity=severity, replacement=replacement
        )

    def finding_at(
        self,
        file: str,
        place: Range,
        message: str,
        *,
        hint: str | None = None,
        path: KeyPath = (),
        severity: Severity | None = None,
        replacement: str | None = None,
    ) -> Finding:
        """Make a finding at a place of a file, for what has no key path."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            hint=hint,
            file=file,
            line=place.start.line,
            column=place.start.column,
            end_line=place.end.line,
            end_column=place.end.column,
            path=format_path(path),
            replacement=replacement,
        )
