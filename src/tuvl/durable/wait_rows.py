"""What runs that share a database wait for, and what they are told to do, as rows: with a key, words are encrypted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.sealing import VARIABLE, Keys, Unopened, is_sealed
from tuvl.values import JsonObject

HIDDEN = f"what it waits for is encrypted with a key that this process does not have ({VARIABLE})"
"""Message of a wait that cannot be opened here."""

_WORDS = ("message", "asked", "document")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRow:
    """What a run waits for; moments are seconds since 1970."""

    run_id: str
    name: str
    digest: str
    workflow: str
    kind: str
    step: str
    message: str
    tenant: str | None
    asked: JsonObject
    document: JsonObject
    """The result document of the run as it stands."""
    since: float
    deadline: float | None
    answered_by: str | None = None
    answered_at: float | None = None
    answer: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortRow:
    """Somebody wants a run to stop."""

    reason: str
    by: str


def kept_wait(wait: WaitRow, keys: Keys) -> dict[str, object]:
    """Return the columns of a wait that has no answer yet."""
    values: dict[str, object] = {name: getattr(wait, name) for name in WaitRow.__slots__}
    values.update(answered_by=None, answered_at=None, answer=None)
    if keys:
        words: JsonObject = {"message": wait.message, "asked": wait.asked, "document": wait.document}
        values.update(message="", asked={}, document=keys.of(wait.run_id).sealed(_name("wait", wait), words))
    return values


def kept_answer(wait: WaitRow, answer: JsonObject, keys: Keys) -> JsonObject:
    """Return what is kept of the answer to a wait."""
    return keys.of(wait.run_id).sealed(_name("answer", wait), answer)


def opened_wait(kept: WaitRow, keys: Keys, *, must: bool) -> WaitRow:
    """Return a wait, and its answer, as they were; raises `Unopened`, where they `must` be so also for plain ones."""
    seal = keys.of(kept.run_id)
    words: Mapping[str, Any] = {}
    opened = seal.opened(_name("wait", kept), kept.document, must=must)
    if is_sealed(kept.document):
        words = {name: opened[name] for name in _WORDS}
    answer = None if kept.answer is None else seal.opened(_name("answer", kept), kept.answer, must=must)
    return replace(kept, **words, answer=answer)


def shown_wait(kept: WaitRow, keys: Keys) -> WaitRow:
    """Return a wait for a list: of one that cannot be opened here, what stands in the clear."""
    try:
        return opened_wait(kept, keys, must=False)
    except Unopened:
        return replace(kept, message=HIDDEN, asked={}, document={}, answer=None)


def kept_reason(run_id: str, reason: str, keys: Keys) -> str:
    """Return what is kept of why a run is to stop."""
    return keys.of(run_id).sealed_text(_ABORT, reason)


def abort_row(run_id: str, reason: str, by: str, keys: Keys) -> AbortRow:
    """Return an order to stop: it is obeyed, also where its reason cannot be opened."""
    try:
        return AbortRow(reason=keys.of(run_id).opened_text(_ABORT, reason), by=by)
    except Unopened:
        return AbortRow(reason=f"aborted by {by}", by=by)


_ABORT = "/abort"


def _name(what: str, wait: WaitRow) -> str:
    return f"/{what}/{wait.name}/{wait.digest}"
