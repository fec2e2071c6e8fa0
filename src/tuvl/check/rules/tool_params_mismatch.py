"""TV408 tool-params-mismatch."""

from collections.abc import Iterator

from tuvl.analysis.context import ARGUMENTS, Keys
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.parameters import ToolUse, argument_reads, tool_uses
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, mapping, text
from tuvl.analysis.templates import rendered_sites
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.suggest import closest
from tuvl.templating.plain import plain_template
from tuvl.templating.scan import scan

_TAKES_ITS_ARGUMENTS = ("APICall", "MCP", "ModelOp")


class ToolParamsMismatch(Rule):
    """A tool's parameters and its step's templates do not fit: one is never used, or a placeholder is never supplied.

    A parameter that nothing uses costs tokens, and the model believes it has an effect. A placeholder that neither a
    parameter nor the context supplies makes every call fail, and one of a parameter that is not required those calls
    that leave it out; in the condition of an `approval` it has a person asked about every call. Unused parameters of a
    custom node are not reported, since a node reads them in Python; unsupplied placeholders only where `spec.input`
    lists its properties and every step says what it writes.
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
            yield from self._unsupplied(use, keys, subject)
            if use.declared or use.step.kind in _TAKES_ITS_ARGUMENTS:
                yield from self._unsupplied_condition(use, keys, subject)

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
        required = ObjectKeys(use.parameters).required
        for site in rendered_sites(use.step):
            if site.path[-1] == "approval":
                continue  # an agent's, which is about the arguments of its own tools
            for name, is_argument in _wanted(site.text):
                if not is_argument and (keys.open or name in keys.known):
                    continue
                if name not in use.names:
                    by = "no parameter" + ("" if is_argument else " and no context key") + " supplies"
                    add = "the tool's `parameters`"
                elif name not in required and plain_template(site.text) is not None:  # no condition and no default
                    by, add = "the model may leave out: the call fails then", "`required` of the tool's `parameters`"
                else:
                    continue
                yield self.finding(
                    subject,
                    site.path,
                    f"tool {use.ref!r} reads {name!r} in `{site.field}`, which {by}",
                    hint=f"add {name!r} to {add}, or give it a `default(…)`",
                )

    def _unsupplied_condition(self, use: ToolUse, keys: Keys, subject: Subject) -> Iterator[Finding]:
        """Look at the condition of an approval: what it cannot read, it asks about each time."""
        condition = text(use.entry.get("approval")) or ""
        for name, is_argument in _wanted(condition):
            if name not in use.names and (is_argument or not (keys.open or name in keys.known)):
                yield self.finding(
                    subject,
                    (*use.path, "approval"),
                    f"the approval of tool {use.ref!r} reads {name!r}, which no parameter"
                    + ("" if is_argument else " and no context key")
                    + " supplies: a person is asked about every call",
                    hint=_near(name, use.names) or f"add {name!r} to the tool's `parameters`, or correct the name",
                )


def _near(name: str, known: tuple[str, ...]) -> str | None:
    match = closest(name, known)
    return None if match is None else f"did you mean {match!r}?"


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
