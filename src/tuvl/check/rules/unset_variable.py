"""TV214 unset-variable."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.spec.variables import Variable, variables

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
        """Hold the variables of configuration fields against the environment."""
        for variable in _variables(subject):
            if variable.default is None and not subject.project.is_set(variable.name):
                yield self.finding(
                    subject,
                    variable.path,
                    f"the environment variable {variable.name!r} is not set here",
                    hint=f"set it where the workflow runs, or give a default: `${{{variable.name}:…}}`",
                )


def _variables(subject: Subject) -> Iterator[Variable]:
    data = subject.document.data
    if subject.kind in _CONFIGURATION or _is_mcp(data):
        yield from variables(data)
    elif subject.workflow is not None:
        for step in subject.workflow.steps:
            if step.kind == "APICall":
                yield from variables(step.get("http", "auth"), (*step.path, "http", "auth"))


def _is_mcp(data: object) -> bool:
    if not isinstance(data, dict) or data.get("kind") != "Artifact":
        return False
    spec = data.get("spec")
    return isinstance(spec, dict) and spec.get("type") == "mcp"
