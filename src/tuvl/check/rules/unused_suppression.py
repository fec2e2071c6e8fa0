"""TV006 unused-suppression."""

from tuvl.check.finding import Severity
from tuvl.check.rule import Rule


class UnusedSuppression(Rule):
    """A `# tuvl: ignore[CODE] reason` that hides nothing, gives no reason, or names a code that cannot be hidden.

    The comment stands on the line of the finding or alone on the line above it, and says why the finding is
    accepted. One that hides nothing is left over from a mistake that was mended; it would hide the next one. Errors
    that no run can go on in spite of cannot be hidden: those of the families source, shape and references, those of how
    an agent is made, those of a step that no run comes past, and what the policy or the command line forbids.
    """

    code = "TV006"
    name = "unused-suppression"
    severity = Severity.WARNING
