"""TV001 yaml-syntax."""

from tuvl.check.finding import Severity
from tuvl.check.reported import SourceRule


class YamlSyntax(SourceRule):
    """The text is not YAML, or not YAML that has a JSON form.

    Nothing of the file can be used: neither the workflow in it nor what other files refer to. The place shown is
    where to look, which for an unclosed bracket or quote is where it opens.
    """

    code = "TV001"
    name = "yaml-syntax"
    severity = Severity.ERROR
