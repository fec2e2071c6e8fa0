"""TV999: what is said when a check itself fails."""

from collections.abc import Callable, Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.source.place import Range


class RuleCrashed(Rule):
    """A check failed on this file. The exit code is 2; all other checks went on.

    It is a mistake in tuvl, not in the file: please report it, with the file if you can share it. What the check
    would have said is unknown, so the gate stays closed.
    """

    code = "TV999"
    name = "rule-crashed"
    severity = Severity.ERROR


RULE_CRASHED = RuleCrashed()


def guarded(rule: Rule, visit: Callable[[], Iterator[Finding]], file: str) -> list[Finding]:
    """Collect what one visit of a rule finds; a rule that raises becomes a finding that names it."""
    found: list[Finding] = []
    try:
        found.extend(visit())
    except Exception as error:  # noqa: BLE001 - one broken check must not silence the others
        message = f"the check {rule.code} {rule.name} crashed: {type(error).__name__}: {error}"
        hint = "this is a mistake in tuvl; please report it. All other checks went on"
        found.append(RULE_CRASHED.finding_at(file, Range.at(1, 1), message, hint=hint))
    return found
