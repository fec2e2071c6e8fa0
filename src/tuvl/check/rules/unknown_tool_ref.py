"""TV202 unknown-tool-ref."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import bad_step_references, unknown_workflows
from tuvl.analysis.scenario_faults import unknown_in_scenario
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.supervision import unknown_watched
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class UnknownToolRef(FaultRule):
    """A step refers to something that is not there or cannot serve: a tool, a ForEach body, a helper, a sub-workflow.

    Tools may be APICall, MCP, ModelOp, Router, Functional and Workflow steps of the same file; an agent cannot be its
    own tool. Helpers (`trim`, `tool_surface`, `continue_on_stop`, `reserve`, `conversation`) are Functional steps, and
    `compaction.preserve` names tools of the agent. A supervisor watches agents with a loop, and its rules name steps. A
    WorkflowTest names a workflow of the project, and steps of it. The set of tools is closed before the first model
    call, so a name that leads nowhere leaves the agent without it, and a supervisor without what it should watch.
    """

    code = "TV202"
    name = "unknown-tool-ref"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at what a scenario names."""
        if subject.kind == "WorkflowTest":
            yield from self.report(unknown_in_scenario(mapping(subject.document.data), subject.project), subject)

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at everything that names a step without routing to it."""
        yield from self.report(bad_step_references(workflow, subject.graph.references), subject)
        yield from self.report(unknown_workflows(workflow, subject.project), subject)
        yield from self.report(unknown_watched(workflow), subject)
