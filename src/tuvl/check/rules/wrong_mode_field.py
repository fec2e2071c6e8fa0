"""TV402 wrong-mode-field."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.schema_files import load_schema

_INSTEAD = {
    "system": "say it in `steering`",
    "prompt": "say it in `steering`; the context itself is the first message",
    "steering": "say it in `system` or `prompt`",
    "tools": "use `mode: autonomous`, or remove the tools: a completion is one call",
}


class WrongModeField(Rule):
    """An agent has a field that only the other mode knows.

    A completion has `system` and `prompt`; an autonomous agent has `steering`, `tools` and the bounds of the loop. A
    field of the other mode would do nothing, and its author would believe that it does.
    """

    code = "TV402"
    name = "wrong-mode-field"
    severity = Severity.ERROR

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Hold the fields against the mode."""
        others = _foreign_fields().get(step.mode or "")
        if others is None:
            return
        right = "autonomous" if step.mode == "completion" else "completion"
        for field in step.agent:
            if field in others:
                yield self.finding(
                    subject,
                    (*step.path, "agent", field),
                    f"`{field}` belongs to `mode: {right}`; step {step.id!r} is of mode {step.mode!r}",
                    hint=_INSTEAD.get(field, f"remove `{field}`, or use `mode: {right}`"),
                    at_key=True,
                )


@lru_cache(maxsize=1)
def _foreign_fields() -> Mapping[str, frozenset[str]]:
    """Mode → fields of `agent:` that only the other mode has; read from the language's own schema."""
    definitions = load_schema("Workflow")["$defs"]
    completion = frozenset(definitions["CompletionAgent"]["properties"])
    autonomous = frozenset(definitions["AutonomousAgent"]["properties"])
    return {"completion": autonomous - completion, "autonomous": completion - autonomous}
