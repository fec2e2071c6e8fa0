"""TV004 key-as-written."""

from tuvl.check.finding import Severity
from tuvl.check.reported import SourceRule


class KeyAsWritten(SourceRule):
    """A key such as `true:` or `1:` that YAML itself would not read as text.

    Keys are text here, so it is taken as it is written; other YAML tools will read a boolean or a number and may
    write the file back differently. In quotes it means the same to all.
    """

    code = "TV004"
    name = "key-as-written"
    severity = Severity.NOTE
