"""Which checks are wanted: codes, names and families, as the command line gives them."""

import re
from collections.abc import Sequence

from tuvl.check.finding import CANNOT_CHECK, Finding
from tuvl.check.rules import ALL_RULES
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.suggest import did_you_mean

_OF_SHIP = frozenset(rule.code for rule in ALL_RULES if rule.phase == "ship")
_FAMILY = re.compile(r"TV([0-9])(?:XX)?")


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes that are reported."""

    codes: frozenset[str]

    def keeps(self, finding: Finding) -> bool:
        """Whether a finding is wanted; that the gate could not do its work is always told."""
        return finding.code in self.codes or finding.code in CANNOT_CHECK


def select_codes(select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Selection:
    """Read what `--select` and `--ignore` were given; raises `UsageError` for a code there is none of, and for none.

    A value without a code is refused: behind it is often a variable that is not set, and `--select ""` would turn
    every check off.
    """
    chosen = _codes(select, "--select") if select else frozenset(rule.code for rule in ALL_RULES)
    if select and chosen <= _OF_SHIP:
        raise UsageError(
            f"--select names {', '.join(sorted(chosen))} alone, which `tuvl ship` checks and no validation does"
        )
    return Selection(chosen - _codes(ignore, "--ignore"))


def _codes(values: Sequence[str], option: str) -> frozenset[str]:
    codes: set[str] = set()
    for text in values:
        words = [word for part in text.split(",") if (word := part.strip())]
        if not words:
            raise UsageError(f"{option} {text!r} names no check; write e.g. {option} TV302, or leave it out")
        codes = codes.union(*map(_meant, words))
    return frozenset(codes)


def _meant(word: str) -> set[str]:
    family = _FAMILY.fullmatch(word.upper())
    codes = {
        rule.code
        for rule in ALL_RULES
        if word.upper() == rule.code
        or word.lower() == rule.name
        or (family is not None and rule.code.startswith(f"TV{family[1]}"))
    }
    if not codes:
        near = did_you_mean(word.upper(), (rule.code for rule in ALL_RULES))
        near = near or did_you_mean(word, (rule.name for rule in ALL_RULES))
        raise UsageError(f"there is no check {word!r}; {near or 'write e.g. TV302, TV3 for a family, or a name'}")
    return codes
