"""TV005 empty-document."""

from tuvl.check.finding import Severity
from tuvl.check.rule import Rule


class EmptyDocument(Rule):
    """A YAML file of the project holds nothing, or only comments.

    It is as if the file were not there, which is rarely what its author thinks: often a merge or an unfinished edit
    emptied it. Named on the command line, such a file is TV009.
    """

    code = "TV005"
    name = "empty-document"
    severity = Severity.WARNING
