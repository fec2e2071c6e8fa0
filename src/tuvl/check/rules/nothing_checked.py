"""TV009 nothing-checked."""

from tuvl.check.finding import Severity
from tuvl.check.rule import Rule


class NothingChecked(Rule):
    """A path that was given holds no document of this language. The exit code is 2.

    A gate that is pointed at the wrong file or folder and says "no findings" is worse than none. A document begins
    with `kind:`; other YAML is passed over when a folder is walked, but not when it is named.
    """

    code = "TV009"
    name = "nothing-checked"
    severity = Severity.ERROR
