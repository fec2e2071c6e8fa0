"""TV401 mode-missing."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.suggest import closest

MODES = ("completion", "autonomous")


class ModeMissing(Rule):
    """An Agent step does not say `mode: completion` or `mode: autonomous`.

    There is no default, since the two differ in what the model may do: one call that answers, or a loop that uses
    tools until it is done or bounded. A reader must see which one it is.
    """

    code = "TV401"
    name = "mode-missing"
    severity = Severity.ERROR

    def visit_step(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at the mode of an Agent step."""
        mode = step.data.get("mode")
        if step.kind != "Agent" or (isinstance(mode, str) and mode in MODES):
            return
        if "mode" not in step.data:
            likely = "autonomous" if "tools" in step.agent or "steering" in step.agent else "completion"
            yield self.finding(
                subject,
                (*step.path, "kind"),
                f"step {step.id!r} does not say its `mode`",
                hint=f"add `mode: {likely}` beside `kind:`; modes are {' and '.join(MODES)}",
            )
            return
        near = closest(mode, MODES) if isinstance(mode, str) else None
        yield self.finding(
            subject,
            (*step.path, "mode"),
            f"step {step.id!r} has the mode {mode!r}, which is none",
            hint=f"did you mean {near!r}?" if near else f"modes are {' and '.join(MODES)}",
        )
