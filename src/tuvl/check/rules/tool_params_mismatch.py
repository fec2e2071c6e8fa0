"""TV408 tool-params-mismatch."""

from collections.abc import Iterator

from tuvl.analysis.context import ARGUMENTS, Keys
from tuvl.analysis.parameters import ToolUse, argument_reads, tool_uses
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, mapping, text
from tuvl.analysis.templates import rendered_sites
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.templating.scan import scan

_TAKES_ITS_ARGUMENTS = ("APICall", "MCP", "ModelOp")


class ToolParamsMismatch(Rule):
    """A tool's parameters and its step's templates do not fit: one is never used, or a placeholder is never supplied.

    A parameter that nothing uses costs tokens, and the model believes it has an effect. A placeholder that neither a
    parameter nor the context supplies makes every call fail. Unused parameters of a custom node are not reported,
    since a node reads them in Python; unsupplied placeholders only where `spec.input` lists its properties and every
    step says what it writes.
    """

    code = "TV408"
    name = "tool-params-mismatch"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look at each tool of the agent."""
        uses = tuple(tool_uses(step, subject.graph.workflow))
        keys = _known_keys(subject) if uses else Keys(open=True)
        for use in uses:
            if use.declared:
                yield from self._unused(use, subject)
            if use.declared or use.step.kind in _TAKES_ITS_ARGUMENTS:
                yield from self._unsupplied(use, keys, subject)

    def _unused(self, use: ToolUse, subject: Subject) -> Iterator[Finding]:
        if use.step.kind == "Functional" and text(use.step.data.get("runner")) not in BUILT_IN_NODES:
            return
        plain, under, whole = argument_reads(use.step)
        for name in use.names:
            if not whole and name not in plain and name not in under:
                yield self.finding(
                    subject,
                    (*use.path, "parameters", "properties", name),
                    f"parameter {name!r} of tool {use.ref!r} is used by no template of step {use.step.id!r}",
                    hint=f"use it in the step as `{{{{ {name} }}}}`, or remove it",
                    at_key=True,
                )

    def _unsupplied(self, use: ToolUse, keys: Keys, subject: Subject) -> Iterator[Finding]:
        for site in rendered_sites(use.step):
            for name, is_argument in _wanted(site.text):
                supplied = name in use.names or (not is_argument and (keys.open or name in keys.known))
                if not supplied:
                    yield self.finding(
                        subject,
                        site.path,
                        f"tool {use.ref!r} reads {name!r} in `{site.field}`, which no parameter"
                        + ("" if is_argument else " and no context key")
                        + " supplies",
                        hint=f"add {name!r} to the tool's `parameters`, or give it a `default(…)`",
                    )


def _wanted(template: str) -> Iterator[tuple[str, bool]]:
    """Names a template cannot do without, each once, and whether it can only be an argument (`args.name`)."""
    found = scan(template)
    wanted: dict[tuple[str, bool], None] = {}
    for path in found.paths:
        is_argument = path[0] == ARGUMENTS
        name = path[1] if is_argument and len(path) > 1 else path[0]
        if path[0] not in found.defaulted and not name.startswith("_") and path != (ARGUMENTS,):
            wanted[(name, is_argument)] = None
    yield from wanted


def _known_keys(subject: Subject) -> Keys:
    """The context keys, open when one cannot tell them: without listed input properties, or with a silent writer."""
    declared = mapping(mapping(subject.graph.workflow.spec.get("input")).get("properties"))
    return Keys(subject.context_keys.known, open=not declared or subject.step_keys.open)
