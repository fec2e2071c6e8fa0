"""TV506 secret-in-context."""

from collections.abc import Iterator

from tuvl.analysis.secure_fields import exposed_secrets
from tuvl.analysis.steps import WorkflowView
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class SecretInContext(FaultRule):
    """A value that goes into a `secure` field of a record is shown to a model or a log, before it is stored or after.

    Fields are marked `secure` so that their values stay in the database; results mask them, but a prompt has left by
    then and a log line is written. An agent that works on its own sees the whole context. A `pii_mask` guardrail at
    `guardrails.input` masks what is handed to the model, though not its instructions.

    The value is followed along the routes: through copies that `set` makes, with text around them too, and in a list or
    a mapping as the one item that it is; into the items of a ForEach and out of its results, into workflows that a step
    runs, which may store it or show it, and as a field of a record that is handed over whole. Whether a record has the
    field is known from `spec.input`, or from the `set` that makes it; of any other, only a read of the field by its
    name is told. Lengths, digests and conditions show nothing. Not followed is what others make of a value: Python
    nodes, models, services, persons, and what a workflow gives back. What the database gives back is masked.
    """

    code = "TV506"
    name = "secret-in-context"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look at what prompts and logs show."""
        if subject.keys is not None:
            yield from self.report(exposed_secrets(subject.keys, subject.project), subject)
