"""What a model costs: its preset's price, else the table that LiteLLM ships, else unknown."""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tuvl.llm.messages import Price
from tuvl.spec.llm import PriceSpec

_NOT_MODELS = frozenset({"sample_spec", "fallback_generalizations"})
"""Entries of the table that describe the table."""

_TABLE = "model_prices_and_context_window_backup.json"


def preset_price(spec: PriceSpec | None) -> Price | None:
    """Return the price a preset declares."""
    if spec is None:
        return None
    return Price(
        input_per_mtok=spec.input_per_mtok,
        output_per_mtok=spec.output_per_mtok,
        cached_input_per_mtok=spec.cached_input_per_mtok,
    )


@lru_cache(maxsize=64)
def table_price(model: str) -> Price | None:
    """Look a `provider/model` up in LiteLLM's table, read from its file: importing LiteLLM takes seconds.

    A model that has no price by the token there has an unknown price, `None`.
    """
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return None
    table = json.loads((Path(package.origin).parent / _TABLE).read_bytes())
    provider, _, rest = model.partition("/")
    entry = table.get(model)
    if entry is None and rest:
        entry = table.get(rest)
        if entry is not None and entry.get("litellm_provider") != provider:
            entry = None
    if not isinstance(entry, dict) or model in _NOT_MODELS:
        return None
    inputs, outputs = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(inputs, int | float) or not isinstance(outputs, int | float):
        return None
    cached = entry.get("cache_read_input_token_cost")
    return Price(
        input_per_mtok=inputs * 1e6,
        output_per_mtok=outputs * 1e6,
        cached_input_per_mtok=cached * 1e6 if isinstance(cached, int | float) else None,
    )
