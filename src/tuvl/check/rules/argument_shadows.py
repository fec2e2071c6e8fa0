"""TV414 argument-shadows."""

from collections.abc import Iterator

from tuvl.analysis.parameters import ToolUse, argument_reads, tool_uses
from tuvl.analysis.steps import StepView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import KeyPath

IDENTITY_KEYS = frozenset(
    {
        "userid",
        "tenantid",
        "principal",
        "principalid",
        "orgid",
        "organizationid",
        "organisationid",
        "actorid",
        "ownerid",
    }
)
"""Names that say for whom something is done, without case, `_` and `-`."""


class ArgumentShadows(Rule):
    """A model gives a tool argument that has the name of a context key its templates read, or of an identity.

    Arguments lie over the context. A step that reads `{{ customer_id }}` for the ticket's own customer gets whatever
    the model writes there, which may be what a stranger's text told it. Values that decide whose data is touched
    belong to the context or to the principal, not to the model.
    """

    code = "TV414"
    name = "argument-shadows"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Compare the arguments of each tool with the context."""
        for use in tool_uses(step, subject.graph.workflow):
            keys = subject.context_keys.known
            plain, _, _ = argument_reads(use.step)
            for name in use.names:
                place = _place(use, name)
                if name in keys and name in plain:
                    yield self.finding(
                        subject,
                        place,
                        f"argument {name!r} of tool {use.ref!r} hides the context key {name!r} "
                        f"that step {use.step.id!r} reads",
                        hint=_hint(use, name),
                        at_key=use.declared,
                    )
                elif name.lower().replace("_", "").replace("-", "") in IDENTITY_KEYS:
                    yield self.finding(
                        subject,
                        place,
                        f"tool {use.ref!r} lets the model choose {name!r}, an identity",
                        hint="take it from the context, or from `ctx.principal` in a node",
                        at_key=use.declared,
                    )


def _place(use: ToolUse, name: str) -> KeyPath:
    return (*use.path, "parameters", "properties", name) if use.declared else (*use.path, "ref")


def _hint(use: ToolUse, name: str) -> str:
    if use.declared:
        return f"remove {name!r} from `parameters`, or name it apart and read `{{{{ args.<name> }}}}`"
    return f"declare `parameters:` without {name!r}, so that it comes from the context"
