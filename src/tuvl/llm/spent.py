"""What a piece of work has used, as JSON: written when it ends, counted again when it is taken from a record."""

from typing import cast

from tuvl.llm.messages import ModelReply, ModelRequest, Price
from tuvl.llm.meter import Meter, uncounted
from tuvl.values import JsonObject


def spent_on(meter: Meter) -> JsonObject:
    """Return all that a meter has counted."""
    return {
        "llm_calls": meter.llm_calls,
        "tool_calls": meter.tool_calls,
        "input_tokens": meter.input_tokens,
        "output_tokens": meter.output_tokens,
        "total_tokens": meter.total_tokens,
        "unpriced_calls": meter.unpriced_calls,
        "priced_cost_usd": meter.priced_cost_usd,
        "estimated": meter.estimated,
    }


NOTHING = spent_on(Meter())
"""What work has used that was not done."""


def spend(meter: Meter, spent: JsonObject) -> None:
    """Count what was spent, on a meter and all that count with it."""
    for at in meter.all:
        at.llm_calls += cast(int, spent["llm_calls"])
        at.tool_calls += cast(int, spent["tool_calls"])
        at.input_tokens += cast(int, spent["input_tokens"])
        at.output_tokens += cast(int, spent["output_tokens"])
        at.total_tokens += cast(int, spent["total_tokens"])
        at.unpriced_calls += cast(int, spent["unpriced_calls"])
        at.priced_cost_usd += cast(float, spent["priced_cost_usd"])
        at.estimated |= bool(spent["estimated"])


def with_reply(spent: JsonObject, request: ModelRequest, reply: ModelReply, price: Price | None) -> JsonObject:
    """Return what was spent together with one call that was answered, which nobody counts hereby."""
    alone = Meter()
    with uncounted():
        spend(alone, spent)
        alone.count_reply(request, reply, price)
    return spent_on(alone)
