"""TV214 unset-variable."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.variables import variables

_CONFIGURATION = frozenset({"AgentModel", "DataSource", "ProjectConfig"})


class UnsetVariable(Rule):
    """A configuration field reads an environment variable that is not set here and has no default.

    It is a note, not a mistake: a gate on pull requests needs no secrets. The run that first uses the document does
    need the variable, and refuses then, naming it and the field.
    """

    code = "TV214"
    name = "unset-variable"
    severity = Severity.NOTE

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Hold the variables of a configuration document against the environment."""
        data = subject.document.data
        if subject.kind not in _CONFIGURATION and not _is_mcp(data):
            return
        for variable in variables(data):
            if variable.default is None and not subject.project.is_set(variable.name):
                yield self.finding(
                    subject,
                    variable.path,
                    f"the environment variable {variable.name!r} is not set here",
                    hint=f"set it where the workflow runs, or give a default: `${{{variable.name}:…}}`",
                )


def _is_mcp(data: object) -> bool:
    if not isinstance(data, dict) or data.get("kind") != "Artifact":
        return False
    spec = data.get("spec")
    return isinstance(spec, dict) and spec.get("type") == "mcp"
