"""Verdicts on pairs of schemas that refer to each other: each pair is compared once, and a pair inside itself holds.

A pair that is met again in a part of the value, while it is compared, is taken to differ in no way. Where it does
differ, it is compared again with what has been found, until nothing is added; what was decided by the first assumption
is forgotten. A pair that is met again for the same part proves nothing: nobody can tell.
"""

from collections.abc import Callable
from dataclasses import field

from tuvl.changes.schema_change import Direction
from tuvl.dataclass import dataclass

Pair = tuple[int, int]
Verdict = frozenset[Direction]

_NOWHERE = 1 << 30
_UNDECIDED: Verdict = frozenset({Direction.UNDECIDED})


@dataclass(frozen=True, slots=True)
class _Open:
    """A pair that is being compared: how many are around it, how deep in the value it is, what is assumed of it."""

    around: int
    depth: int
    assumed: Verdict


@dataclass(slots=True)
class Trials:
    """All pairs of one comparison that were tried against each other; `left` is how many more may be compared."""

    left: int
    _done: dict[Pair, Verdict] = field(default_factory=dict)
    _open: dict[Pair, _Open] = field(default_factory=dict)
    _unsettled: dict[Pair, None] = field(default_factory=dict)
    """Pairs that are done by an assumption about one that is still open."""
    _lowest: int = _NOWHERE
    """The outermost open pair that something was assumed of since this was set."""

    def verdict(self, pair: Pair, depth: int, compared: Callable[[], Verdict]) -> Verdict:
        """Return how a pair differs, so deep in the value; `compared` tells, if nobody has yet."""
        inner = not self._open or depth > next(reversed(self._open.values())).depth
        if pair in self._done and (inner or pair not in self._unsettled):
            if pair in self._unsettled:
                self._lowest = 0
            return self._done[pair]
        if pair in self._open:
            met = self._open[pair]
            self._lowest = min(self._lowest, met.around)
            return met.assumed if depth > met.depth else _UNDECIDED
        around, mark, before = len(self._open), len(self._unsettled), self._lowest
        assumed: Verdict = frozenset()
        while True:
            self._open[pair], self._lowest = _Open(around, depth, assumed), _NOWHERE
            found = compared()
            if found <= assumed or self._lowest > around:
                break
            for each in list(self._unsettled)[mark:]:
                del self._unsettled[each], self._done[each]
            assumed |= found
        del self._open[pair]
        self._done[pair] = found | assumed
        if self._lowest < around:
            self._unsettled[pair] = None
        else:
            for each in list(self._unsettled)[mark:]:
                del self._unsettled[each]
        self._lowest = min(before, self._lowest if self._lowest < around else _NOWHERE)
        return self._done[pair]
