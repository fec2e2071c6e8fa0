"""TV103 missing-field."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class MissingField(ShapeRule):
    """A required field is absent.

    The document cannot be used without it, and there is no value that could safely be assumed.
    """

    code = "TV103"
    name = "missing-field"
    severity = Severity.ERROR
