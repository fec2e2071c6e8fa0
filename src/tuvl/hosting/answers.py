"""Whether an answer fits what a run asks, and whoever gives it."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tuvl.errors import UsageError
from tuvl.hosting.requests import AnswerRefused
from tuvl.principal import Principal
from tuvl.steps.human import refuse_answer, refuse_person
from tuvl.values import JsonObject, JsonValue, NotJsonError, dump_json, shorten, to_json

if TYPE_CHECKING:
    from tuvl.durable.wait_rows import WaitRow

OUTCOMES = ("done", "retry", "failed")


def checked(
    kind: str, asked: JsonObject, value: JsonObject, who: Principal, also_requested_by: Sequence[str] = ()
) -> JsonObject:
    """Return an answer as the record keeps it; raises `AnswerRefused`.

    `also_requested_by` are those who have asked for the runs that this one was forked from.
    """
    try:
        to_json(value, where="answer")
    except NotJsonError as error:
        raise AnswerRefused(f"the answer cannot be kept: {error}", "invalid") from None
    match kind:
        case "question":
            return _to_question(asked, value, who, also_requested_by)
        case "approval":
            return _to_approval(value)
        case "outcome_unknown":
            return _to_unknown_outcome(value)
        case _:
            raise AnswerRefused(f"the run waits for {kind!r}, which cannot be answered", "not_waiting")


def _to_question(asked: JsonObject, value: JsonObject, who: Principal, also_requested_by: Sequence[str]) -> JsonObject:
    refuse_reserved(value)
    try:
        refuse_person(asked, who, also_requested_by)
    except UsageError as error:
        raise AnswerRefused(str(error), "not_allowed") from None
    try:
        refuse_answer(asked, value, who, also_requested_by)
    except UsageError as error:
        raise AnswerRefused(str(error), "invalid") from None
    return {"answer": value}


def refuse_late(wait: "WaitRow") -> None:
    """Raise `AnswerRefused` for an answer to what has one, or whose time is over."""
    if wait.answered_at is not None:
        raise AnswerRefused(
            f"run {wait.run_id!r} has its answer: already answered by {wait.answered_by}", "already_answered"
        )
    if wait.deadline is not None and wait.deadline <= time.time():
        raise AnswerRefused(f"run {wait.run_id!r} waits no more: the time for an answer is over", "too_late")


def refuse_too_large(value: JsonObject, context: Mapping[str, JsonValue], most: int) -> None:
    """Raise `AnswerRefused` for an answer with which the context of the run would be larger than it may be."""
    size = len(dump_json(value).encode()) + len(dump_json(dict(context)).encode())
    if size > most:
        raise AnswerRefused(
            f"with the answer the context has {size} bytes; limits.max_context_bytes is {most}", "invalid"
        )


def _to_approval(value: JsonObject) -> JsonObject:
    _refuse_unknown(value, ("approved", "note"))
    approved, note = value.get("approved"), value.get("note")
    if not isinstance(approved, bool) or not (note is None or isinstance(note, str)):
        raise AnswerRefused("an approval is answered with `approved`, true or false, and perhaps a `note`", "invalid")
    return {"approved": approved, "note": note}


def _to_unknown_outcome(value: JsonObject) -> JsonObject:
    _refuse_unknown(value, ("outcome", "answer"))
    outcome, given = value.get("outcome"), value.get("answer") or {}
    if outcome not in OUTCOMES:
        raise AnswerRefused(f"say what became of the step: `outcome` is one of {', '.join(OUTCOMES)}", "invalid")
    if not isinstance(given, dict) or (given and outcome != "done"):
        raise AnswerRefused("`answer` says what a step would have set, and goes with the outcome `done`", "invalid")
    refuse_reserved(given)
    return {"outcome": outcome, "answer": given}


def _refuse_unknown(value: JsonObject, known: Sequence[str]) -> None:
    """Raise `AnswerRefused` for a key that such an answer does not have, and that somebody may have misspelt."""
    unknown = next((name for name in value if name not in known), None)
    if unknown is not None:
        said = f"the answer has {shorten(unknown)!r}, which is not asked; asked are {', '.join(known)}"
        raise AnswerRefused(said, "invalid")


def refuse_reserved(value: JsonObject) -> None:
    """Raise `AnswerRefused` for keys that belong to the engine."""
    reserved = sorted(key for key in value if key.startswith("_"))
    if reserved:
        raise AnswerRefused(f"the answer has the key {reserved[0]!r}, and those with a '_' are the engine's", "invalid")
