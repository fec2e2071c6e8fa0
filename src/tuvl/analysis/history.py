"""How the requests of a tool loop grow: each holds all that was said before."""

from collections.abc import Callable

from tuvl.analysis.amount import NOTHING, Amount
from tuvl.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Sizes in tokens: the first request, what one reply adds, and what one call adds with its result."""

    first: Amount
    reply: Amount
    call: Amount
    calls_per_turn: Amount
    calls: Amount
    """Most calls in all."""
    limit: "History | None" = None
    """Sizes that a bound on requests gives; the smaller one counts."""

    def request(self, turn: int) -> Amount:
        """The largest request of a turn, counted from 1."""
        before = turn - 1
        calls = self.calls_per_turn.times(before).at_most(self.calls)
        size = self.first + self.reply.times(before) + calls * self.call
        return size if self.limit is None else size.at_most(self.limit.request(turn))

    def requests(self, turns: int) -> Amount:
        """All requests of so many turns together."""
        size = self.first.times(turns) + self.reply.times(turns * (turns - 1) / 2) + self._calls(turns) * self.call
        return size if self.limit is None else size.at_most(self.limit.requests(turns))

    def _calls(self, turns: int) -> Amount:
        """How often the calls stand in the requests of so many turns; they come as early as they can."""
        pace, most = self.calls_per_turn, self.calls
        if turns == 1:
            return NOTHING
        if pace.value is None or most.value is None or pace.value * (turns - 1) <= most.value:
            return pace.times(turns * (turns - 1) / 2)
        full = int(most.value // pace.value)
        count = pace.value * full * (full + 1) / 2 + most.value * (turns - 1 - full)
        return Amount(count, by=pace.by + most.by)

    def last_request(self, turns: int, used: Amount) -> Amount:
        """The largest request that is still made while those before it use no more than `used`.

        A request is at most one turn's growth larger than the one before; so a large one costs large ones before it.
        """
        largest = self.request(turns)
        growth = self.reply + self.calls_per_turn * self.call
        if used.value is None or growth.value is None or largest.value is None:
            return largest
        step, budget = growth.value, used.value

        def fits(size: float, turn: int) -> bool:
            return _before(size, step, turn - 1) <= budget

        turn = _last(1, turns, lambda turn: fits(self.request(turn).value or 0, turn))
        if turn == turns:
            return largest
        here, ahead = self.request(turn), self.request(turn + 1).value or 0
        size = float(_last(0, int(ahead), lambda size: fits(size, turn + 1)))
        return here.or_more(Amount(size, by=used.by))


def _before(size: float, step: float, turns: int) -> float:
    """The least that so many requests take before one of this size."""
    if step <= 0:
        return size * turns
    count = min(turns, int(size // step))
    return size * count - step * count * (count + 1) / 2


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number from `low` to `high` for which something holds that holds for `low`, and never again after."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
