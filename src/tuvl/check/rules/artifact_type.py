"""TV205 artifact-type."""

from collections.abc import Iterator

from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import mapping
from tuvl.artifacts.reference import SITE_TYPES
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class ArtifactType(Rule):
    """A reference names an artifact of a type that its place does not take.

    `system` and `prompt` take a prompt, `steering` steering or a prompt, `skills` skills, a judge's `criteria`
    steering, `guardrails` guardrails, `hooks` hooks, `mcp.server` a server. Text written for one purpose misleads
    when it is used for another, and a policy in the place of a prompt would be shown to the model.
    """

    code = "TV205"
    name = "artifact-type"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Hold the type of every artifact that is found against the place."""
        for reference in artifact_references(mapping(subject.document.data), subject.kind):
            view = subject.project.resolve(reference.text) if reference.is_reference else None
            wanted = SITE_TYPES[reference.site]
            if view is not None and view.type not in wanted:
                yield self.finding(
                    subject,
                    reference.path,
                    f"artifact {view.name!r} is of type {view.type!r}; `{reference.site}` takes {' or '.join(wanted)}",
                    hint=f"refer to an artifact of type {wanted[0]}",
                )
