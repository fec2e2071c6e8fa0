"""A price is believed by bounds on dollars: one that falls lets more be spent, and is told so."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.changes.samples import doc, side
from tests.check.project_files import write
from tuvl.changes.change import Change, ChangeClass
from tuvl.changes.compare import compare_pair
from tuvl.cli.app import app
from tuvl.values import JsonObject

W, V = ChangeClass.WIDENS, ChangeClass.BEHAVIOUR
LISTED = {"provider": "openai", "model": "gpt-4.1-2025-04-14"}
"""2 and 8 dollars by the table."""
SMALLER = {"provider": "openai", "model": "gpt-4.1-mini-2025-04-14"}
"""0.40 and 1.60 dollars by the table."""
OWN = {"provider": "openai_compatible", "api_base": "https://models.example/v1", "model": "own"}


def price(inputs: float, outputs: float, **cached: float) -> JsonObject:
    return {"price": {"input_per_mtok": inputs, "output_per_mtok": outputs, **cached}}


def told(tmp_path: Path, old: JsonObject, new: JsonObject) -> list[Change]:
    state = side(tmp_path)
    documents = [
        doc(state, {"kind": "AgentModel", "metadata": {"name": "m"}, "spec": spec}, prose=False) for spec in (old, new)
    ]
    return [change for change in compare_pair(*documents).changes if change.code.startswith("price-")]


CASES = {
    "both rise": (price(1, 2), price(3, 4), V, "price"),
    "one falls": (price(1, 2), price(3, 1), W, "price of output tokens lowered"),
    "both fall": (price(1, 2), price(0, 0), W, "price of input and output and cached input tokens lowered"),
    "only what was cached falls": (
        price(1, 2, cached_input_per_mtok=1),
        price(1, 2, cached_input_per_mtok=0.5),
        W,
        "price of cached input tokens lowered",
    ),
    "cached tokens are no longer cheap": (price(1, 2, cached_input_per_mtok=0.1), price(1, 2), V, "price"),
    "unknown to known": ({}, price(1, 2), W, "price is known now"),
    "known to unknown": (price(1, 2), {}, W, "price is no longer known"),
}


@pytest.mark.parametrize(("old", "new", "cls", "message"), CASES.values(), ids=CASES)
def test_price_that_falls_widens_and_one_that_rises_does_not(
    tmp_path: Path, old: JsonObject, new: JsonObject, cls: ChangeClass, message: str
) -> None:
    (change,) = told(tmp_path, {**OWN, **old}, {**OWN, **new})
    assert (change.cls, change.message) == (cls, message)


def test_price_below_that_of_the_table_widens_where_none_was_written(tmp_path: Path) -> None:
    (lower,) = told(tmp_path, LISTED, {**LISTED, **price(0.01, 0.01)})
    (higher,) = told(tmp_path, LISTED, {**LISTED, **price(20, 80)})
    assert (lower.cls, higher.cls) == (W, V)


def test_price_taken_away_widens_where_the_table_has_a_lower_one(tmp_path: Path) -> None:
    (lower,) = told(tmp_path, {**LISTED, **price(20, 80)}, LISTED)
    (higher,) = told(tmp_path, {**LISTED, **price(0.01, 0.01)}, LISTED)
    assert (lower.cls, lower.old_side) == (W, True)
    assert higher.cls is V


def test_smaller_model_may_cost_what_the_table_says_and_no_less(tmp_path: Path) -> None:
    old = {**LISTED, **price(2, 8)}
    (as_listed,) = told(tmp_path, old, {**SMALLER, **price(0.4, 1.6)})
    (below,) = told(tmp_path, old, {**SMALLER, **price(0.4, 0.1)})
    (unlisted,) = told(tmp_path, {**OWN, **price(2, 8)}, {**OWN, "model": "other", **price(1, 8)})
    assert (as_listed.cls, below.cls, unlisted.cls) == (V, W, W)


def test_same_price_written_otherwise_is_not_told_as_another(tmp_path: Path) -> None:
    assert told(tmp_path, {**OWN, **price(1, 2)}, {**OWN, **price(1.0, 2.0)}) == []


def test_diff_stops_a_price_that_falls_and_shows_what_it_does_to_the_bounds(tmp_path: Path) -> None:
    workflow = (
        "kind: Workflow\nmetadata: { name: say }\nspec:\n"
        "  input: { type: object, properties: { text: { type: string, maxLength: 100 } }, required: [text] }\n"
        "  steps:\n    - id: say\n      kind: Agent\n      mode: completion\n"
        '      agent: { model: m, system: Answer., prompt: "{{ text }}" }\n      routes: { error: END, aborted: END }\n'
    )
    preset = (
        "kind: AgentModel\nmetadata: { name: m }\n"
        "spec: { provider: openai_compatible, api_base: 'https://models.example/v1', model: own, max_tokens: 100, "
        "price: { input_per_mtok: 10, output_per_mtok: 10 } }\n"
    )
    files = {"tuvl.yaml": "kind: ProjectConfig\n", "say.yaml": workflow}
    old = write(tmp_path / "old", {**files, "m.yaml": preset})
    new = write(tmp_path / "new", {**files, "m.yaml": preset.replace("mtok: 10", "mtok: 1")})
    ended = CliRunner().invoke(app, ["diff", str(old), str(new)])
    assert ended.exit_code == 1
    assert "price-lowered" in ended.stdout
    assert "worst case of say, proved: " in ended.stdout
    assert "USD" in ended.stdout.split("worst case of say, proved: ")[1]
    assert CliRunner().invoke(app, ["diff", str(new), str(old)]).exit_code == 0
