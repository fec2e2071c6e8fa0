"""TV505 output-undefined."""

from collections.abc import Iterator

from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.undefined_keys import missing_outputs
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class OutputUndefined(Rule):
    """`spec.output` names a key that is not there at some end of the run, or at none.

    The run completes with the output `null`, and its caller takes that for an answer. It is an error where no end can
    have the key. Ends at which a Response step has given the output are left out, and so are failed and aborted runs.
    """

    code = "TV505"
    name = "output-undefined"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold the output against the ends of the run."""
        for missing in missing_outputs(subject.keys) if subject.keys is not None else ():
            severity = Severity.ERROR if missing.certain else None
            yield self.finding(subject, missing.place, missing.message, hint=missing.hint, severity=severity)
