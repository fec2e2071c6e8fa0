"""TV501 undefined-key."""

from collections.abc import Iterator

from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.undefined_keys import undefined_keys
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject


class UndefinedKey(Rule):
    """A step reads a context key that is not there: on no way that leads to it, or not on every way.

    A template, a router or a response that finds nothing fails its step. It is an error where no input can hold the key
    (as with `additionalProperties: false`, read through `$ref`, `allOf` and their like) and no way brings it, so that
    the step can only fail; it is a warning where some way does without it, and the way is shown: steps, and the signals
    they leave by. Keys are followed exit by exit. A step that fails writes nothing but the engine's `_last_error…`
    keys; it does so on `error` and `aborted`, whatever its kind. A question that nobody answers in time has not failed,
    so that its `timeout` writes nothing. A tool with `writes_context` may or may not be called, and after a node that
    does not declare its `writes` any key counts as there. A router that asks whether a key is there, by `is_not_empty`,
    `is defined` or `default`, proves it for the signals by which it does not leave without the key.
    """

    code = "TV501"
    name = "undefined-key"
    severity = Severity.WARNING

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Hold what is read against what is there."""
        for undefined in undefined_keys(subject.keys) if subject.keys is not None else ():
            severity = Severity.ERROR if undefined.certain else None
            yield self.finding(subject, undefined.place, undefined.message, hint=undefined.hint, severity=severity)
