"""What the table that LiteLLM ships says of a model, read from its file: importing LiteLLM takes seconds.

The file has megabytes and one entry is wanted, so the entry is looked up in the text and only it is read.
"""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tuvl.dataclass import dataclass

_NOT_MODELS = frozenset({"sample_spec", "fallback_generalizations"})
"""Entries of the table that describe the table."""

_TABLE = "model_prices_and_context_window_backup.json"
_TIER = "_above_"
"""Part of the names of prices that hold for long requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One model: prices in US dollars for a token, sizes in tokens; `None` is not told."""

    input_cost: float | None = None
    output_cost: float | None = None
    cached_input_cost: float | None = None
    highest_input_cost: float | None = None
    """Price of an input token in the most expensive tier."""
    highest_output_cost: float | None = None
    max_output_tokens: int | None = None
    max_input_tokens: int | None = None


@lru_cache(maxsize=64)
def table_entry(model: str) -> TableEntry | None:
    """Look a `provider/model` up; `None` for one that the table does not hold."""
    provider, _, rest = model.partition("/")
    entry = _entry(model)
    if entry is None and rest:
        entry = _entry(rest)
        if entry is not None and entry.get("litellm_provider") != provider:
            entry = None
    if entry is None:
        return None
    return TableEntry(
        input_cost=_cost(entry, "input_cost_per_token"),
        output_cost=_cost(entry, "output_cost_per_token"),
        cached_input_cost=_cost(entry, "cache_read_input_token_cost"),
        highest_input_cost=_highest(entry, "input_cost_per_token"),
        highest_output_cost=_highest(entry, "output_cost_per_token"),
        max_output_tokens=_size(entry, "max_output_tokens"),
        max_input_tokens=_size(entry, "max_input_tokens"),
    )


def _entry(name: str) -> dict[str, Any] | None:
    if name in _NOT_MODELS:
        return None
    table, key = _table(), f"\n    {json.dumps(name)}: ".encode()
    # The entries are the keys of the outermost object, each on a line of its own, indented once.
    start = table.find(key + b"{")
    if start < 0:
        return None
    end = table.find(b"\n    }", start)
    found = json.loads(table[start + len(key) : end + len(b"\n    }")])
    return found if isinstance(found, dict) else None


@lru_cache(maxsize=1)
def _table() -> bytes:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return b""
    try:
        return (Path(package.origin).parent / _TABLE).read_bytes()
    except OSError:
        return b""


def _cost(entry: dict[str, Any], name: str) -> float | None:
    value = entry.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _highest(entry: dict[str, Any], name: str) -> float | None:
    """The plain price, or that of a tier for long requests; service tiers have to be asked for."""
    tiers = [key for key in entry if key.startswith(name + _TIER) and not key.endswith(("_priority", "_flex"))]
    found = [cost for cost in (_cost(entry, key) for key in (name, *tiers)) if cost is not None]
    return max(found, default=None)


def _size(entry: dict[str, Any], name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
