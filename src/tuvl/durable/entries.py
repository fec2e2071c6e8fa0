"""The entries of a run's record as they are read: none is missing, each opens at its number, and its end stands apart.

Entries are numbered from 1 on, without gaps. Where they are encrypted, each holds its number, and the last one of a run
that has ended is its result: what the status of the run says in the clear is not believed against that.
"""

from collections.abc import Mapping

from tuvl.dataclass import dataclass
from tuvl.durable.faults import RecordDamaged
from tuvl.durable.rows import RESULT, checked
from tuvl.errors import UsageError
from tuvl.sealing import Seal, is_sealed
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """What is recorded of a run."""

    rows: dict[str, JsonObject]
    """Entries by their names, in order."""
    result: JsonObject | None
    """How it has ended, where the record says so."""


def missing(highest: int, count: int) -> str | None:
    """Say what is missing of a record whose last entry has a number; `None` when nothing is."""
    return None if highest == count else f"of its {highest} entries {highest - count} are missing"


def entries_of(seal: Seal, run_id: str, kept: Mapping[str, JsonObject], *, highest: int, must: bool) -> Entries:
    """Return the entries of a run, whose last one has the number `highest`; with `must`, each has to be encrypted.

    Raises `UsageError` for a record that is not what was written, and `Unopened` for one that cannot be opened.
    """
    gap = missing(highest, len(kept))
    if gap is not None:
        raise _damaged(run_id, gap)
    try:
        checked(kept)
    except RecordDamaged as error:
        raise _damaged(run_id, error.why) from None
    rows = seal.opened_rows(kept, must=must)
    ended = rows.pop(RESULT, None)
    if ended is None:
        return Entries(rows=rows, result=None)
    result = ended.get("value")
    if not is_sealed(kept[RESULT]) or not isinstance(result, dict):
        raise _damaged(run_id, "what stands there as its result is none")
    return Entries(rows=rows, result=result)


def _damaged(run_id: str, what: str) -> UsageError:
    return UsageError(
        f"the record of run {run_id!r} cannot be used: {what}; restore it from a backup, or start the run anew"
    )
