"""A run that begins where another one was: with its record up to a step, its input and its definition."""

from collections.abc import Mapping
from typing import cast

from tuvl.durable.leaving import rows_of_payload
from tuvl.durable.told import TOLD
from tuvl.errors import UsageError
from tuvl.hosting.started import FORKED_VERSION
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject


def forked(payload: JsonObject, rows: Mapping[str, JsonObject], at: str) -> JsonObject:
    """Return what a fork is started with: `payload` and `rows` are those of the run that it parts from.

    Raises `UsageError` for a step that has no entry of its own in the record.
    """
    recorded = {**rows_of_payload(payload), **rows}
    return {**payload, "v": FORKED_VERSION, "rows": cast(JsonObject, _before(recorded, at))}


def _before(rows: Mapping[str, JsonObject], at: str) -> dict[str, JsonObject]:
    before: dict[str, JsonObject] = {}
    for name, row in rows.items():
        if name.startswith(f"{at}#"):
            return before
        if not name.startswith(TOLD):  # what the other run was told from outside, nobody has told this one
            before[name] = row
    steps = list(dict.fromkeys(name.partition("#")[0] for name in rows if "/" in name))
    hint = did_you_mean(at, steps) or (f"it has entries of {', '.join(steps)}" if steps else "the record has no entry")
    raise UsageError(
        f"the run has no entry of a step {at!r}, where a fork could begin; {hint}. Steps that only compute, such as a "
        "Router, have none"
    )
