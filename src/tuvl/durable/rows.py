"""The form of a record's rows: written whole, and looked at before anything is believed of them.

`{"v": 1, "t": seconds of the run, "value": …, "sum": CRC-32 of it}`, with `asked` and `states` where there are any.
"""

import json
import zlib
from collections.abc import Mapping
from typing import cast

from tuvl.durable.faults import RecordDamaged
from tuvl.values import JsonObject, JsonValue

VERSION = 1
"""Version of the rows' form; a run whose rows are of another one is not taken up."""

PAYLOAD, RESULT = "/payload", "/result"
"""Names of what is no row: no row's name begins so."""

APPLICATION_VERSION = f"tuvl-journal-{VERSION}"
"""What each run with such rows is marked with."""


def row_of(
    value: JsonValue, at: float, *, asked: str | None = None, states: Mapping[str, JsonValue] | None = None
) -> JsonObject:
    """Write a row: its value is JSON of its own, sharing nothing."""
    text = json.dumps(value)
    row: JsonObject = {"v": VERSION, "t": round(at, 6), "value": json.loads(text), "sum": _sum(text)}
    if asked is not None:
        row["asked"] = asked
    if states:
        row["states"] = dict(states)
    return row


def checked(found: Mapping[str, object]) -> dict[str, JsonObject]:
    """Return rows as they were written; raises `RecordDamaged` for one that is none, or of another form."""
    return {name: _checked(name, row) for name, row in found.items()}


def _checked(name: str, row: object) -> JsonObject:
    if not isinstance(row, dict) or "v" not in row:
        raise RecordDamaged(f"its entry {name!r} cannot be read")
    if row["v"] != VERSION:
        raise RecordDamaged(
            f"its entry {name!r} has the form {row['v']!r}, and this tuvl knows form {VERSION}; "
            "resume it with the tuvl that began it",
            foreign=True,
        )
    at = row.get("t")
    if isinstance(row.get("sealed"), str) and isinstance(at, int | float):
        return cast(JsonObject, row)  # whoever has the key tells whether it is what was written
    whole = "value" in row and isinstance(at, int | float) and isinstance(row.get("states", {}), dict)
    if not whole or row.get("sum") != _sum(json.dumps(row["value"])):
        raise RecordDamaged(f"its entry {name!r} is not what was written")
    return cast(JsonObject, row)


def _sum(text: str) -> int:
    return zlib.crc32(text.encode("ascii"))
