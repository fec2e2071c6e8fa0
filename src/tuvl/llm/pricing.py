"""What a model costs: its preset's price, else the table that LiteLLM ships, else unknown."""

from tuvl.llm.messages import Price
from tuvl.model_table import table_entry
from tuvl.spec.llm import PriceSpec


def preset_price(spec: PriceSpec | None) -> Price | None:
    """Return the price a preset declares."""
    if spec is None:
        return None
    return Price(
        input_per_mtok=spec.input_per_mtok,
        output_per_mtok=spec.output_per_mtok,
        cached_input_per_mtok=spec.cached_input_per_mtok,
    )


def table_price(model: str) -> Price | None:
    """Look a `provider/model` up in LiteLLM's table.

    A model that has no price by the token there has an unknown price, `None`.
    """
    entry = table_entry(model)
    if entry is None or entry.input_cost is None or entry.output_cost is None:
        return None
    cached = entry.cached_input_cost
    return Price(
        input_per_mtok=entry.input_cost * 1e6,
        output_per_mtok=entry.output_cost * 1e6,
        cached_input_per_mtok=None if cached is None else cached * 1e6,
    )
