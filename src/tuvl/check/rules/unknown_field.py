"""TV101 unknown-field."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class UnknownField(ShapeRule):
    """A field that the language does not have at this place.

    A misspelt bound or guardrail that is silently ignored is a bound or guardrail that is not there. The hint names
    the field that was probably meant, or the place where this one belongs.
    """

    code = "TV101"
    name = "unknown-field"
    severity = Severity.ERROR
