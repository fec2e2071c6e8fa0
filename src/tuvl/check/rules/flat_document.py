"""TV105 flat-document."""

from tuvl.check.finding import Severity
from tuvl.check.reported import ShapeRule


class FlatDocument(ShapeRule):
    """A field of `spec:` stands beside `kind:` instead.

    The envelope (`kind`, `version`, `enabled`, `metadata`) and the body (`spec`) are kept apart in every document,
    so that the same field can never be given in both with two values.
    """

    code = "TV105"
    name = "flat-document"
    severity = Severity.ERROR
