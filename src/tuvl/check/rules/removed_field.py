"""TV106 removed-field."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class RemovedField(ShapeRule):
    """A spelling that earlier versions of the language had.

    It no longer does anything. The message names what took its place.
    """

    code = "TV106"
    name = "removed-field"
    severity = Severity.ERROR
