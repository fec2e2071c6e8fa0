"""What a provider, or a model of a test, says that a call used: read so that nonsense is never a measured zero."""

import math

from tuvl.dataclass import dataclass
from tuvl.llm.messages import Usage

MOST_TOKENS = 10**12
"""No honest count of one call's tokens is larger."""

_DIGITS = 16
"""Longer texts are not even tried as numbers."""


@dataclass(frozen=True, slots=True)
class Count:
    """One reported number of tokens: `value` is a floor, and `sure` says whether it is what was used."""

    value: int = 0
    sure: bool = False


UNKNOWN = Count()


def read_count(value: object) -> Count:
    """Read one number; what is missing, negative, endless, or no number at all says nothing.

    Some gateways write their numbers as text. A fraction is a floor that nobody measured.
    """
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < _DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN
    if not 0 <= value <= MOST_TOKENS:  # false for NaN, too
        return UNKNOWN
    whole = math.ceil(value)
    return Count(whole, sure=whole == value)


def usage_of(
    inputs: Count, outputs: Count, total: Count, *, cached: object = 0, cost_usd: object = None
) -> Usage | None:
    """Put the numbers of one call together; `None` when they say nothing.

    One that is missing follows from the two others. Where it does not, or was a fraction, the usage is marked as
    estimated: its numbers are floors then, and its zeros are unknown.
    """
    if total.sure and outputs.sure and not inputs.sure and total.value > outputs.value:
        inputs = Count(total.value - outputs.value, sure=True)
    elif total.sure and inputs.sure and not outputs.sure and total.value > inputs.value:
        outputs = Count(total.value - inputs.value, sure=True)
    most = max(total.value, inputs.value + outputs.value)
    if most == 0:
        return None
    return Usage(
        input_tokens=inputs.value,
        output_tokens=outputs.value,
        total_tokens=most,
        cached_input_tokens=read_count(cached).value,
        cost_usd=read_dollars(cost_usd),
        estimated=not (inputs.sure and outputs.sure),
    )


def is_exact(usage: Usage) -> bool:
    """Whether usage says what was used in whole numbers that fit each other, so that nothing is left to read."""
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_input_tokens)
    cost = usage.cost_usd
    return (
        all(map(_is_whole, counts))
        and 0 < usage.total_tokens >= usage.input_tokens + usage.output_tokens
        and (cost is None or (type(cost) is float and 0 <= cost <= MOST_TOKENS))
    )


def _is_whole(count: object) -> bool:
    return type(count) is int and 0 <= count <= MOST_TOKENS


def read_dollars(value: object) -> float | None:
    """Read a reported cost; `None` for what is no amount of money."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST_TOKENS else None
