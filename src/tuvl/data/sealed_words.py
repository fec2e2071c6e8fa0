"""What the store of runs keeps of the words of runs and people: encrypted with a key, and shown to who has it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from tuvl.data.run_rows import InterventionRow
from tuvl.sealing import VARIABLE, Keys, Unopened, is_sealed
from tuvl.values import JsonObject, JsonValue

ENCRYPTED = "encrypted"
"""Type of the error that stands in the place of a result which cannot be opened here."""

_COUNTED = ("duration_ms", "usage")
"""What of a result stays readable."""

_RESULT = "/kept/result"


def kept_result(run_id: str, result: JsonValue, keys: Keys) -> JsonValue:
    """Return what is kept of the result document of a run."""
    if not isinstance(result, dict):
        return result
    return keys.of(run_id).sealed(_RESULT, result, shown=_COUNTED)


def shown_result(run_id: str, kept: JsonValue, keys: Keys) -> JsonValue:
    """Return the document; of one that cannot be opened here, what stands in the clear, and an error that says so."""
    if not isinstance(kept, dict) or not is_sealed(kept):
        return kept
    try:
        return keys.of(run_id).opened(_RESULT, kept)
    except Unopened as error:
        shown = {name: kept[name] for name in _COUNTED if name in kept}
        return {**shown, "error": {"type": ENCRYPTED, "message": str(error), "step": None, "detail": {}}}


def refuse_encrypted(result: Mapping[str, JsonValue]) -> None:
    """Raise `Unopened` for a result that could not be opened."""
    error = result.get("error")
    if isinstance(error, dict) and error.get("type") == ENCRYPTED:
        raise Unopened(str(error["message"]))


def kept_words(run_id: str, row: InterventionRow, keys: Keys) -> InterventionRow:
    """Return what is kept of an intervention."""
    seal = keys.of(run_id)
    return replace(
        row,
        message=seal.sealed_text(_name(row.id, "message"), row.message),
        reason=seal.sealed_text(_name(row.id, "reason"), row.reason),
    )


def shown_words(run_id: str, id: str, entry: JsonObject, keys: Keys) -> JsonObject:
    """Return the words of an intervention, by the entry that is shown of it."""
    seal, shown = keys.of(run_id), JsonObject()
    for name in ("message", "reason"):
        try:
            shown[name] = seal.opened_text(_name(id, name), cast(str, entry[name]))
        except Unopened:
            shown[name] = f"({ENCRYPTED}; see {VARIABLE})"
    return shown


def _name(id: str, column: str) -> str:
    return f"/done/{id}/{column}"
