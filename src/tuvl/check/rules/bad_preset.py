"""TV220 bad-preset."""

from collections.abc import Iterator

from tuvl.analysis.preset_faults import preset_faults
from tuvl.analysis.steps import mapping
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject


class BadPreset(FaultRule):
    """A language model cannot be called: its `api_base` is no URL, or `extra` has a setting that is not its own.

    The run would begin, do what comes before its first model call, and fail there. A user name or a password in the
    address would go into logs with it. `extra` may neither set what the engine sets (`model`, `messages`, `tools`) nor
    what is reckoned with before a run: how many replies a call makes (`n`), how often it is made again, by which model,
    and at which price; nor may `extra_headers` set what is the client's own, such as `Host`. Variables count as written
    well; their values are looked at when the model is made.
    """

    code = "TV220"
    name = "bad-preset"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at the address and the settings of a model."""
        if subject.kind == "AgentModel":
            yield from self.report(preset_faults(mapping(subject.document.data)), subject)
