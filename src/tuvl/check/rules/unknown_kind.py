"""TV104 unknown-kind."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class UnknownKind(ShapeRule):
    """The `kind:` of a document, or of a step, is not one the language knows.

    What stands in it cannot be checked, let alone run. The kinds are a closed set; the hint names the nearest.
    """

    code = "TV104"
    name = "unknown-kind"
    severity = Severity.ERROR
