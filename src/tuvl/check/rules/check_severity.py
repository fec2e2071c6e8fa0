"""TV218 check-severity."""

from tuvl.check.finding import Severity
from tuvl.check.rule import Rule


class CheckSeverity(Rule):
    """The project sets the severity of a check that does not exist, or of one that cannot be lowered.

    `spec.checks.severity` of `tuvl.yaml` and `[tool.tuvl.severity]` of `pyproject.toml` say how much a check weighs.
    A misspelt code changes nothing: the gate is then less strict than its author believes. Errors of the families
    source, shape and references cannot be lowered, nor can others that keep a workflow from running.
    """

    code = "TV218"
    name = "check-severity"
    severity = Severity.ERROR
