"""TV218 check-severity."""

from tuvl.check.finding import Severity
from tuvl.check.rule import Rule


class CheckSeverity(Rule):
    """The project sets the severity of a check that does not exist, or of one that cannot be lowered.

    `spec.checks.severity` of `tuvl.yaml` and `[tool.tuvl.severity]` of `pyproject.toml` say how much a check weighs.
    A misspelt code changes nothing: the gate is then less strict than its author believes. Errors that
    keep a workflow from running, nearly all, cannot be lowered; a comment may accept one where it stands.
    """

    code = "TV218"
    name = "check-severity"
    severity = Severity.ERROR
