"""What a fork takes over of the record of another run, and what of it people are asked again.

What somebody has said to a run was said to that run: one answer is good for one going on. A fork asks anew, and what
follows on record holds when the answer is the same; after another one it does not, and is done as that one says.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import cast

from tuvl.durable.definitions import is_definition
from tuvl.durable.record import Answer
from tuvl.durable.told import TOLD
from tuvl.values import JsonObject, JsonValue


def rows_of_payload(payload: JsonObject) -> dict[str, JsonObject]:
    """Return the rows that a run was given to begin with, without what is asked again."""
    again = _again(payload)
    return {name: row for name, row in _rows(payload).items() if name not in again}


def record_of(
    payload: JsonObject, own: Mapping[str, JsonObject], answers: Iterable[Answer] = ()
) -> dict[str, JsonObject]:
    """Return the record that a run goes on with, in order: what it was given to begin with, and its own.

    `answers` are those that it has not come to yet.
    """
    given = {answer.wait: answer.value for answer in answers}
    again, before, differs = _again(payload), dict[str, JsonObject](), False
    for name, row in _rows(payload).items():
        if differs and not is_definition(name):  # which holds whatever is answered
            continue
        if name not in again:
            before[name] = row
            continue
        said = cast(JsonObject, own[name]["value"]) if name in own else given.get(name)
        if name in own:
            before[name] = own[name]
        differs = said is not None and _said(said) != _said(cast(JsonObject, row["value"]))
    return {**before, **own}


def inherited(
    payload: JsonObject, record: Mapping[str, JsonObject], at: str, anew: Collection[str] | None = None
) -> JsonObject | None:
    """Return what a fork at a step is given to begin with: `rows`, and the names of those that are asked `again`.

    `record` is that of the run which it parts from, and `payload` what that was started with. `anew` are the visits
    that are not taken over, as `step#number`, in any order; without them they are known by the first entry of the step,
    and where that has none, this is `None`.
    """
    if anew is None and not has_entry(payload, record, at):
        return None
    before = _before(_whole(payload, record), {f"{at}#1"} if anew is None else anew)
    again = [name for name, row in before.items() if _open(name, row)]
    gone = {f"{place}end" for name in again for place in _places(name)}
    gone.update(f"{name.rpartition('/')[0]}/asked_at" for name in again)
    gone.update(name for name in before if _is_unused_approval(name, before))
    rows = {name: row for name, row in before.items() if name not in gone}
    return {"rows": cast(JsonObject, rows), "again": list[JsonValue](again)}


def has_entry(payload: JsonObject, record: Mapping[str, JsonObject], at: str) -> bool:
    """Tell whether the first visit of a step has an entry of its own, at which a fork can begin."""
    return any(name.startswith(f"{at}#1/") for name in _whole(payload, record))


def _whole(payload: JsonObject, record: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Return a record with what was asked again in it and has no answer yet, in order."""
    given = _rows(payload).items()
    return {**{name: record.get(name, row) for name, row in given if name in record or _open(name, row)}, **record}


def _before(record: Mapping[str, JsonObject], anew: Collection[str]) -> dict[str, JsonObject]:
    """Return the entries before the first one of these visits."""
    before: dict[str, JsonObject] = {}
    for name, row in record.items():
        if name.partition("/")[0] in anew:
            break
        if not name.startswith(TOLD):  # what the other run was told from outside, nobody has told this one
            before[name] = row
    return before


def _open(name: str, row: JsonObject) -> bool:
    """Tell whether a row is what a person has answered to a question."""
    value = row.get("value")
    return name.endswith("/answer") and isinstance(value, dict) and {"answer", "by", "at"} <= value.keys()


def _is_unused_approval(name: str, before: Mapping[str, JsonObject]) -> bool:
    """Tell whether a row approves a call that is not on record, so that it would be made with that approval again."""
    place, _, last = name.rpartition("/")
    return last.startswith("approval.") and f"{place}/end" not in before


def _places(name: str) -> list[str]:
    """Return the parts that a row is in: what is recorded of a whole would hide what is asked in it."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))]


def _said(value: JsonObject) -> JsonValue:
    return value.get("answer")


def _rows(payload: JsonObject) -> dict[str, JsonObject]:
    return cast(dict[str, JsonObject], payload.get("rows") or {})


def _again(payload: JsonObject) -> set[str]:
    return set(cast(list[str], payload.get("again") or []))
