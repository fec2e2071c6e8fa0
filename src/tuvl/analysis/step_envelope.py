"""The worst case of one step, whatever its kind."""

from tuvl.analysis.amount import NOTHING, Amount
from tuvl.analysis.spend import NO_SPEND, Spend
from tuvl.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnvelope:
    """What one execution of a step uses at most."""

    spend: Spend = NO_SPEND
    turn: Spend = NO_SPEND
    """What it can still use after the moment in which a budget around it is reached: one worst turn."""
    seconds: Amount = NOTHING


PLAIN = StepEnvelope()
"""A step that calls no model and takes no time of its own."""
