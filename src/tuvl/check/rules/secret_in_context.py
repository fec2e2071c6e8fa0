"""TV506 secret-in-context."""

from collections.abc import Iterator

from tuvl.analysis.secure_fields import exposed_secrets
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class SecretInContext(FaultRule):
    """A value that goes into a `secure` field of a record is shown to a model or a log on the way.

    Fields are marked `secure` so that their values stay in the database; results mask them, but a prompt has left by
    then and a log line is written. An agent that works on its own sees the whole context. A `pii_mask` guardrail at
    `guardrails.input` masks what is handed to the model, though not its instructions.
    """

    code = "TV506"
    name = "secret-in-context"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at what prompts and logs show."""
        if subject.keys is not None:
            yield from self.report(exposed_secrets(subject.keys, subject.project), subject)
