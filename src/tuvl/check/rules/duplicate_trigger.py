"""TV212 duplicate-trigger."""

from collections.abc import Iterator

from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document


class DuplicateTrigger(Rule):
    """Two enabled workflows answer the same trigger path and method.

    The server can start only one of them for a request; which one would depend on the order of files.
    """

    code = "TV212"
    name = "duplicate-trigger"
    severity = Severity.ERROR

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Compare the triggers of all workflows."""
        first: dict[tuple[str, str], tuple[str, Document]] = {}
        for document in project.documents("Workflow"):
            workflow = WorkflowView(mapping(document.data))
            trigger = mapping(workflow.spec.get("trigger"))
            path = text(trigger.get("path"))
            if path is None:
                continue
            method = text(trigger.get("method")) or "POST"
            name, other = first.setdefault((method, path), (workflow.name, document))
            if other is not document:
                place = other.locate(("spec", "trigger", "path"))
                yield self.finding(
                    document,
                    ("spec", "trigger", "path"),
                    f"workflow {workflow.name!r} answers {method} {path!r}, and so does {name!r} "
                    f"({other.file}:{place.start.line})",
                    hint="give one of them another path or method, or set `enabled: false`",
                )
