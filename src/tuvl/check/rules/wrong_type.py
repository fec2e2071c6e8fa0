"""TV102 wrong-type."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class WrongType(ShapeRule):
    """A value of another type than its field takes, or outside its range.

    Nothing is converted on the way: `"5"` is not 5, and a bound of 0 or `true` is not "off" (that is `null`).
    A guess here would be a bound that holds somewhere else than its author thinks.
    """

    code = "TV102"
    name = "wrong-type"
    severity = Severity.ERROR
