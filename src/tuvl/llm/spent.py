"""What a part of a run has used, as JSON: written when the part ends, counted again when it is taken from a record."""

from typing import cast

from tuvl.llm.meter import Meter
from tuvl.values import JsonObject


class Spending:
    """Notes where a meter stands, and tells what was spent since."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._before = _counts(meter)
        self._cost = meter.priced_cost_usd

    def so_far(self) -> JsonObject:
        """Return what was spent since the beginning."""
        spent: JsonObject = {name: value - self._before[name] for name, value in _counts(self._meter).items()}
        return spent | {"priced_cost_usd": self._meter.priced_cost_usd - self._cost, "estimated": self._meter.estimated}


def spend(meter: Meter, spent: JsonObject) -> None:
    """Count what was spent, on a meter and those above it."""
    at: Meter | None = meter
    while at is not None:
        at.llm_calls += cast(int, spent["llm_calls"])
        at.tool_calls += cast(int, spent["tool_calls"])
        at.input_tokens += cast(int, spent["input_tokens"])
        at.output_tokens += cast(int, spent["output_tokens"])
        at.total_tokens += cast(int, spent["total_tokens"])
        at.unpriced_calls += cast(int, spent["unpriced_calls"])
        at.priced_cost_usd += cast(float, spent["priced_cost_usd"])
        at.estimated |= bool(spent["estimated"])
        at = at.parent


def _counts(meter: Meter) -> dict[str, int]:
    return {
        "llm_calls": meter.llm_calls,
        "tool_calls": meter.tool_calls,
        "input_tokens": meter.input_tokens,
        "output_tokens": meter.output_tokens,
        "total_tokens": meter.total_tokens,
        "unpriced_calls": meter.unpriced_calls,
    }
