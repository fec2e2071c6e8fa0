"""TV004 key-as-written."""

from tuvl.check.finding import Severity
from tuvl.check.reported import SourceRule
from tuvl.source.place import SourceProblem
from tuvl.values import dump_json


class KeyAsWritten(SourceRule):
    """A key such as `true:` or `1:` that YAML itself would not read as text.

    Keys are text here, so it is taken as it is written; other YAML tools will read a boolean or a number and may
    write the file back differently. In quotes it means the same to all.
    """

    code = "TV004"
    name = "key-as-written"
    severity = Severity.NOTE

    def replacement(self, problem: SourceProblem) -> str | None:
        """Put the key in quotes."""
        key = problem.path[-1] if problem.path else None
        return dump_json(key) if isinstance(key, str) else None
