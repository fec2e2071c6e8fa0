"""TV002 duplicate-key."""

from tuvl.check.finding import Severity
from tuvl.check.reported import SourceRule


class DuplicateKey(SourceRule):
    """A mapping holds the same key twice.

    Most YAML readers keep the last one without a word: a second `routes:` or `tools:` further down replaces the
    first, and half of a step is gone. Merge keys (`<<`) may be overridden; that is their purpose.
    """

    code = "TV002"
    name = "duplicate-key"
    severity = Severity.ERROR
