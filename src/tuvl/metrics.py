"""Counters of one process: what is counted where it happens, and read by whoever exports it."""

from collections import Counter
from collections.abc import Mapping

HOOK_EVENTS = "tuvl.hook.events"
"""How often hooks with `action: metric` fired; attributes `hook` and `event`."""

NO_ATTRIBUTES: Mapping[str, str] = {}


class Counters:
    """Sums that only grow, each by its name and attributes. Attributes are names from files, never values of a run."""

    def __init__(self) -> None:
        self._sums: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()

    def add(self, name: str, attributes: Mapping[str, str] = NO_ATTRIBUTES, amount: int = 1) -> None:
        """Count something."""
        self._sums[name, tuple(sorted(attributes.items()))] += amount

    def value(self, name: str, attributes: Mapping[str, str] = NO_ATTRIBUTES) -> int:
        """Return the sum of everything counted under a name whose attributes include these."""
        wanted = set(attributes.items())
        return sum(amount for (own, has), amount in self._sums.items() if own == name and wanted <= set(has))

    def items(self) -> list[tuple[str, dict[str, str], int]]:
        """Return every sum with its name and attributes."""
        # A copy, made at once: whoever exports the sums reads them from a thread of its own.
        return [(name, dict(attributes), amount) for (name, attributes), amount in list(self._sums.items())]
