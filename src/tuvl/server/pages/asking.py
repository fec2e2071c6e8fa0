"""What a run asks of a person, shown whole, and the form for the answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf, isfinite
from typing import Literal, TypeAlias, assert_never

from tuvl.analysis.steps import items, mapping
from tuvl.dataclass import dataclass
from tuvl.errors import InputError
from tuvl.hosting.requests import WaitingRun
from tuvl.principal import Principal
from tuvl.server.obstacles import obstacle
from tuvl.server.pages.looks import ago, moment, pretty, shown, shown_lines
from tuvl.server.pages.page import sentence
from tuvl.server.pages.view import run_href
from tuvl.values import JsonObject, JsonValue

FIELD = "field."
"""What the names of a form's fields begin with that hold an answer, apart from those of the form itself."""

_OUTCOMES = (
    ("done", "It took place", "The run goes on as if the step had ended well."),
    ("retry", "It did not take place: do it again", "The step is done once more."),
    ("failed", "It failed", "The run goes on as after an error of the step."),
)
_WHOLE_NUMBER, _DECIMAL = "numeric", "decimal"

Given: TypeAlias = Mapping[str, str]
"""Fields of a form as they came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One choice of a field."""

    value: str
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field of the form; with `options` one of them is chosen."""

    name: str
    id: str
    label: str
    required: bool = True
    several_lines: bool = False
    mode: str = ""
    """Keyboard that a telephone shows."""
    options: tuple[Option, ...] = ()
    value: str = ""
    """What is filled in already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """A button that sends the form."""

    value: str
    label: str
    look: Literal["main", "risky", ""] = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Something that is shown whole."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCard:
    """One thing that a run waits for."""

    run_id: str
    run_href: str
    href: str
    workflow: str
    step: str
    heading: str
    message: str
    instruction: str
    since: str
    deadline: str
    digest: str
    blocks: tuple[Block, ...]
    fields: tuple[FormField, ...]
    deeds: tuple[Deed, ...]
    obstacle: str
    """Why the reader may not answer; empty when they may."""

    def kept_from(self, why: str) -> "WaitCard":
        """Return it for somebody who may not answer, whatever is asked."""
        return replace(self, obstacle=self.obstacle or why)


def card_of(wait: WaitingRun, reader: Principal, now: datetime) -> WaitCard:
    """Return what a person sees of it."""
    asked = wait.asked
    heading = _heading(wait)
    return WaitCard(
        run_id=wait.run_id,
        run_href=run_href(wait.run_id),
        href=f"/waiting/{run_href(wait.run_id).removeprefix('/runs/')}",
        workflow=shown(wait.workflow),
        step=shown(wait.step),
        heading=heading,
        message=_message(wait),
        instruction=shown_lines(asked.get("instruction") or ""),
        since=ago(wait.since, now),
        deadline=moment(wait.deadline) if wait.deadline else "",
        digest=wait.digest,
        blocks=tuple(_blocks(wait)),
        fields=tuple(_fields(wait)),
        deeds=_deeds(wait),
        obstacle=obstacle(wait, reader),
    )


def filled_in(card: WaitCard, given: Given) -> WaitCard:
    """Return the card with what somebody has filled in, so that a mistake costs no work."""
    return replace(card, fields=tuple(replace(each, value=given.get(each.name, each.value)) for each in card.fields))


def _heading(wait: WaitingRun) -> str:
    if wait.encrypted:
        return "Something encrypted waits for an answer"
    match wait.kind:
        case "approval":
            return f"Approve a call of {shown(wait.asked.get('tool'))}?"
        case "question":
            return shown(wait.asked.get("title")) or "A question waits for an answer"
        case "outcome_unknown":
            return f"How did step {shown(wait.step)} end?"
        case _:
            assert_never(wait.kind)


def _message(wait: WaitingRun) -> str:
    if wait.encrypted:
        return sentence(shown(wait.message))
    match wait.kind:
        case "approval":
            asked = wait.asked
            why = shown(asked.get("reason"))
            called = f"Step {shown(wait.step)} wants to call the tool {shown(asked.get('tool'))}."
            return f"{called} Asked because {why}." if why else called
        case "question":
            who = shown(wait.requested_by)
            return f"The run acts for {who}." if who else ""
        case "outcome_unknown":
            return shown(wait.message)
        case _:
            assert_never(wait.kind)


def _blocks(wait: WaitingRun) -> Iterator[Block]:
    if wait.encrypted:
        return
    match wait.kind:
        case "approval":
            yield Block(label="Arguments", text=pretty(wait.asked.get("arguments")))
        case "question":
            for key, value in mapping(wait.asked.get("shown")).items():
                yield Block(label=shown(key), text=shown_lines(value))
        case "outcome_unknown":
            if wait.asked:
                yield Block(label="What is known", text=pretty(wait.asked))
        case _:
            assert_never(wait.kind)


def _fields(wait: WaitingRun) -> Iterator[FormField]:
    match wait.kind:
        case "approval":
            yield FormField(name="note", id="note", label="Note to the agent", required=False, several_lines=True)
        case "question":
            for index, field in enumerate(map(mapping, items(wait.asked.get("fields")))):
                yield _question_field(field, f"answer-{index}")
        case "outcome_unknown":
            options = tuple(Option(value=value, label=label, help=help) for value, label, help in _OUTCOMES)
            yield FormField(name="outcome", id="outcome", label="What became of it?", options=options)
            label = "What the step would have set, as JSON; only where it took place"
            yield FormField(name="answer", id="answer", label=label, required=False, several_lines=True)
        case _:
            assert_never(wait.kind)


def _question_field(field: Mapping[str, JsonValue], id: str) -> FormField:
    name = str(field.get("name"))
    made = FormField(
        name=FIELD + name, id=id, label=shown(field.get("label") or name), required=field.get("required") is True
    )
    match field.get("type"):
        case "boolean":
            return replace(made, options=(Option(value="true", label="Yes"), Option(value="false", label="No")))
        case "choice":
            # A choice may be any scalar; its place in the list stands for it.
            choices = enumerate(items(field.get("choices")))
            return replace(made, options=tuple(Option(value=str(at), label=shown(each)) for at, each in choices))
        case "integer":
            return replace(made, mode=_WHOLE_NUMBER)
        case "number":
            return replace(made, mode=_DECIMAL)
        case "text":
            return replace(made, several_lines=True)
        case _:
            return made


def _deeds(wait: WaitingRun) -> tuple[Deed, ...]:
    if wait.kind == "approval":
        return (Deed(value="approve", label="Approve"), Deed(value="deny", label="Deny", look="risky"))
    return (Deed(value="answer", label="Answer"),)


def value_of(wait: WaitingRun, given: Given) -> JsonObject:
    """Read the answer out of a form; raises `InputError` that says what is wrong with it."""
    match wait.kind:
        case "approval":
            deed = given.get("deed")
            if deed not in ("approve", "deny"):
                raise InputError("Say whether you approve or deny the call.")
            return {"approved": deed == "approve", "note": given.get("note", "").strip() or None}
        case "question":
            return _answers(items(wait.asked.get("fields")), given)
        case "outcome_unknown":
            return {"outcome": given.get("outcome", ""), "answer": _json_object(given.get("answer", ""))}
        case _:
            assert_never(wait.kind)


def _answers(fields: Sequence[JsonValue], given: Given) -> JsonObject:
    answers: JsonObject = {}
    for field in map(mapping, fields):
        name = str(field.get("name"))
        text = given.get(FIELD + name, "")
        if text.strip():
            answers[name] = _typed(field, text)
        elif field.get("required") is True:
            raise InputError(f"{shown(field.get('label') or name)}: an answer is needed.")
    return answers


def _typed(field: Mapping[str, JsonValue], text: str) -> JsonValue:
    name = shown(field.get("label") or field.get("name"))
    try:
        match field.get("type"):
            case "integer":
                return _whole(text)
            case "number":
                return _number(text)
            case "boolean":
                return {"true": True, "false": False}[text]
            case "choice":
                chosen: JsonValue = items(field.get("choices"))[_index(text)]
                return chosen
            case "string":
                return text.strip()
            case _:
                return text.replace("\r\n", "\n")
    except (ValueError, KeyError, IndexError):
        wanted = {"integer": "a whole number, e.g. 12", "number": "a number, e.g. 12.5"}
        kind = wanted.get(str(field.get("type")), "one of the choices")
        raise InputError(f"{name}: this has to be {kind}.") from None


def _index(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _whole(text: str) -> int:
    """Read a whole number as people write it: Python would take `1_0` for ten, too."""
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> JsonValue:
    if _WHOLE.fullmatch(text.strip()):
        return int(text)
    value = float(text) if _FRACTION.fullmatch(text.strip()) else inf
    if not isfinite(value):
        raise ValueError(text)
    return value


_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_FRACTION = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")


def _json_object(text: str) -> JsonObject:
    if not text.strip():
        return {}
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("What the step would have set is no JSON.") from None
    if not isinstance(value, dict):
        raise InputError('What the step would have set has to be a JSON object, e.g. {"result": 1}.')
    return value
