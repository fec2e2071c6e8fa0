"""Numbers that may be unbounded or unknown, and what can be said of their sums all the same."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from tuvl.dataclass import dataclass

MOST_WORDS = 12
"""Fields that are kept as what set a bound, or would: a sum over thousands of steps is read by nobody as a whole."""

State: TypeAlias = Literal["bounded", "unbounded", "unknown"]


@dataclass(frozen=True, slots=True)
class Amount:
    """An upper bound, or why there is none.

    `value` is `None` when something is unbounded (`needs` then says which fields would bound it) or unknown (`lacks`
    says what is not known). `by` is what set the bound. Of a long list of them the first are kept.
    """

    value: float | None
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """Whether there is a bound; what is unbounded in one part is so as a whole."""
        if self.value is not None:
            return "bounded"
        return "unbounded" if self.needs else "unknown"

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        if self.value is None or other.value is None:
            return _none(self, other)
        if not other.value:
            return self
        if not self.value:
            return other
        return Amount(self.value + other.value, by=_joined(self.by, other.by))

    def times(self, count: float) -> "Amount":
        """So many of it; none of something unknown is none."""
        if count == 1:
            return self
        if not count:
            return NOTHING
        return self if self.value is None else replace(self, value=self.value * count)

    def __mul__(self, other: "Amount") -> "Amount":
        """The product; nothing times the unknown is nothing."""
        if self.value == 0 or other.value == 0:
            return NOTHING
        if self.value is None or other.value is None:
            return _none(self, other)
        return Amount(self.value * other.value, by=_joined(self.by, other.by))

    def at_most(self, other: "Amount") -> "Amount":
        """The smaller one: a bound counts whatever the other is."""
        if other.value is None:
            return self
        return other if self.value is None or other.value < self.value else self

    def or_more(self, other: "Amount") -> "Amount":
        """The larger one."""
        if self.value is None or other.value is None:
            return _none(self, other)
        return other if other.value > self.value else self

    def exceeds(self, limit: float) -> bool:
        """Whether it is not shown to be within a limit."""
        return self.value is None or self.value > limit

    def set_by(self, *fields: str) -> "Amount":
        """The same, with what set it."""
        return replace(self, by=fields) if self.value is not None else self


NOTHING = Amount(0)


def exactly(value: float, *by: str) -> Amount:
    """A number, and what set it."""
    return Amount(value, by=by)


def unbounded(*needs: str) -> Amount:
    """No bound; `needs` are the fields that would give one."""
    return Amount(None, needs=needs)


def unknown(*lacks: str) -> Amount:
    """A bound exists, and is not known, because of what `lacks` says."""
    return Amount(None, lacks=lacks)


def total(amounts: Iterable[Amount]) -> Amount:
    """All together."""
    found = NOTHING
    for amount in amounts:
        found += amount
    return found


def highest(amounts: Iterable[Amount]) -> Amount:
    """The largest; nothing when there is none."""
    found = NOTHING
    for amount in amounts:
        found = found.or_more(amount)
    return found


def _none(one: Amount, other: Amount) -> Amount:
    return Amount(None, needs=_joined(one.needs, other.needs), lacks=_joined(one.lacks, other.lacks))


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    if not other or one == other or len(one) >= MOST_WORDS:
        return one
    return tuple(dict.fromkeys((*one, *other)))[:MOST_WORDS] if one else other
