"""One entry of LiteLLM's table is read without the rest, and says what the whole table says."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tuvl.model_table import table_entry


def whole_table() -> dict[str, dict[str, object]]:
    package = find_spec("litellm")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "model_prices_and_context_window_backup.json"
    table: dict[str, dict[str, object]] = json.loads(path.read_bytes())
    return table


def test_entry_is_what_the_whole_table_says() -> None:
    table = whole_table()
    for name in [name for name in table if name not in {"sample_spec", "fallback_generalizations"}][::40]:
        found, entry = table_entry(name), table[name]
        assert found is not None, name
        assert found.input_cost == entry.get("input_cost_per_token"), name
        assert found.output_cost == entry.get("output_cost_per_token"), name
        if isinstance(entry.get("max_output_tokens"), int) and entry["max_output_tokens"]:
            assert found.max_output_tokens == entry["max_output_tokens"], name


@pytest.mark.parametrize("name", ["sample_spec", "nobody/nothing", "anthropic/gpt-4o", "", 'gpt-4o": {"x'])
def test_what_is_no_model_of_that_provider_is_not_found(name: str) -> None:
    assert table_entry(name) is None


def test_longest_tier_is_the_highest_price() -> None:
    table = whole_table()
    tiered = next(name for name, entry in table.items() if any("_per_token_above_200k" in key for key in entry))
    found = table_entry(tiered)
    assert found is not None
    assert found.highest_input_cost is not None
    assert found.input_cost is not None
    assert found.highest_input_cost > found.input_cost
