"""How the worth of steps is summed up over a way: in one amount, or in every field of a spend."""

from collections.abc import Collection

from tuvl.analysis.amount import NOTHING, Amount
from tuvl.analysis.run_paths import Sums
from tuvl.analysis.spend import NO_SPEND, Spend, by_field


def best_of(choices: Collection[tuple[Amount, int]], most: int) -> Amount:
    """The largest sum of at most so many amounts in all, each taken as often as it may be."""
    found, left = NOTHING, most
    # What has no bound comes first: it decides.
    for amount, often in sorted(choices, key=_rank, reverse=True):
        if left <= 0:
            break
        found += amount.times(min(often, left))
        left -= min(often, left)
    return found


def _rank(choice: tuple[Amount, int]) -> float:
    value = choice[0].value
    return float("inf") if value is None else value


def best_spend_of(choices: Collection[tuple[Spend, int]], most: int) -> Spend:
    """The same for each field by itself."""
    often = [count for _, count in choices]
    return by_field(
        [spend for spend, _ in choices], lambda amounts: best_of(tuple(zip(amounts, often, strict=True)), most)
    )


AMOUNTS: Sums[Amount] = Sums(
    nothing=NOTHING, both=Amount.__add__, either=Amount.or_more, best_of=best_of, smaller=Amount.at_most
)

SPENDS: Sums[Spend] = Sums(
    nothing=NO_SPEND, both=Spend.__add__, either=Spend.or_more, best_of=best_spend_of, smaller=Spend.at_most
)
