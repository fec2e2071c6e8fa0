"""What a run waits for, as lines for whoever decides: what is asked, of whom, until when, and the command to type."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import cast, get_args

from tuvl.analysis.steps import items, mapping
from tuvl.cli.live import View
from tuvl.cli.pasted import command
from tuvl.dataclass import dataclass
from tuvl.journal import WaitKind
from tuvl.redaction import redact, redact_json
from tuvl.values import JsonObject, JsonValue, dump_json, printable

KINDS: tuple[WaitKind, ...] = get_args(WaitKind)
_LABEL = 12
"""Characters of the column of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one run waits for, as its result document says it."""

    run_id: str
    kind: WaitKind
    step: str
    message: str
    asked: Mapping[str, JsonValue]
    deadline: float | None
    """In seconds since 1970."""

    def is_over(self, now: datetime) -> bool:
        """Tell whether the time for an answer is over."""
        return self.deadline is not None and self.deadline <= now.timestamp()


def wait_kind(word: str) -> WaitKind | None:
    """Return the kind of wait that a word means; `None` for other words."""
    return next((kind for kind in KINDS if kind == word), None)


def asked_by(run_id: str, error: Mapping[str, JsonValue]) -> Asked | None:
    """Return what a suspended run waits for, by the `error` of its result; `None` where that tells nothing of it."""
    kind = wait_kind(str(error.get("type")))
    if kind is None:
        return None
    detail = mapping(error.get("detail"))
    deadline = detail.get("deadline")
    return Asked(
        run_id=run_id,
        kind=kind,
        step=str(error.get("step") or ""),
        message=str(error.get("message")),
        asked=mapping(detail.get("asked")),
        deadline=deadline if isinstance(deadline, int | float) else None,
    )


def answering(kind: WaitKind, run_id: str) -> str:
    """Return the command that gives an answer of this kind."""
    match kind:
        case "question":
            return f"{_about('resume', run_id)} --answer FILE"
        case "approval":
            return f"{_about('approve', run_id)}, or with --deny"
        case "outcome_unknown":
            return f"{_about('resume', run_id)} --outcome done|retry|failed"


def _about(verb: str, run_id: str) -> str:
    return printable(command("tuvl", *verb.split(), run_id))


def next_command(wait: Asked, now: datetime) -> str:
    """Return the command that goes on with a run; where time for an answer is over, it takes none."""
    if wait.is_over(now):
        return _about("resume", wait.run_id)
    # Who started the run may not answer where a group is asked, and nobody is somebody else without saying so.
    named = wait.asked.get("required_group") or wait.asked.get("assignee")
    return answering(wait.kind, wait.run_id) + (" --principal FILE" if named else "")


def say_next(document: JsonObject, view: View) -> None:
    """Say how a run goes on that is suspended, by its result document; nothing of one that has ended."""
    if document.get("status") != "suspended":
        return
    run_id = str(document["run_id"])
    wait = asked_by(run_id, mapping(document.get("error")))
    if wait is not None:
        said = next_command(wait, datetime.now(UTC))
        view.say(f"next: {said} ({_about('runs show', run_id)} says all that is asked)", mark="now")


def whom(assignee: JsonValue, group: JsonValue) -> str:
    """Say who may answer."""
    if assignee:
        return str(assignee)
    return f"group {group}" if group else "anybody"


def asked_lines(
    wait: Asked, *, since: str, requester: str, now: datetime, elsewhere: str | None = None
) -> Iterator[str]:
    """Write the whole of what a run waits for, a label before each part of it.

    `since` is when it began to wait, `requester` for whom the run acts, `elsewhere` where it is to be answered if by no
    command. Secrets are masked, and nothing of it can act on a terminal or pass itself off as another line.
    """
    yield _labelled("waits", f"{_what(wait)}, since {since}")
    yield _labelled("for", _for_whom(wait, requester))
    if wait.deadline is not None:
        over = ", which is over" if wait.is_over(now) else ""
        yield _labelled("until", f"{datetime.fromtimestamp(wait.deadline, UTC):%Y-%m-%d %H:%M:%S} UTC{over}")
    match wait.kind:
        case "question":
            yield from _question(wait.asked)
        case "approval":
            asked = wait.asked
            call = call_lines(wait.step, str(asked.get("tool")), asked.get("arguments"), str(asked.get("reason")))
            yield from _block("asks", call)
        case "outcome_unknown":
            yield from _unknown(wait)
    yield _labelled("next", elsewhere or next_command(wait, now))


def call_lines(step: str, tool: str, arguments: JsonValue, reason: str) -> list[str]:
    """Say what is to be approved: agent, tool, the whole of the arguments, and why it is asked.

    What the model wrote is shown without the characters by which text could act on a terminal.
    """
    return [
        printable(f"Step {step!r} wants to call the tool {tool!r} with"),
        *_indented(json_lines(arguments)),
        printable(f"Asked because {reason}."),
    ]


def json_lines(value: JsonValue) -> list[str]:
    """Return a value as JSON on several lines: secrets masked, what a terminal would obey escaped."""
    text = json.dumps(redact_json(value), ensure_ascii=False, indent=2)
    return [printable(redact(line)) for line in text.split("\n")]


def _what(wait: Asked) -> str:
    step = _shown(repr(wait.step))
    match wait.kind:
        case "question":
            return f"for an answer to the question of step {step}"
        case "approval":
            return f"for approval of a call of step {step}"
        case "outcome_unknown":
            return f"for word of what became of step {step}"


def _for_whom(wait: Asked, requester: str) -> str:
    group = wait.asked.get("required_group")
    who = _shown(whom(wait.asked.get("assignee"), group))
    return f"{who}, and not {_shown(repr(requester))}, who has asked for it" if group else who


def _question(asked: Mapping[str, JsonValue]) -> Iterator[str]:
    yield from _block("asks", _text_lines(asked.get("title")))
    if asked.get("instruction"):
        yield from _block("", _text_lines(asked["instruction"]))
    for key, value in mapping(asked.get("shown")).items():
        lines = _text_lines(value) if isinstance(value, str) else json_lines(value)
        name = _shown(key)
        yield from _block("shown", [f"{name}: {lines[0]}"] if len(lines) == 1 else [f"{name}:", *_indented(lines)])
    for field in map(mapping, items(asked.get("fields"))):
        yield _labelled("field", _field(field))


def _field(field: Mapping[str, JsonValue]) -> str:
    kind = str(field.get("type"))
    if field.get("choices") is not None:
        kind += " of " + ", ".join(_value(choice) for choice in items(field["choices"]))
    label = f" ({_shown(str(field['label']))})" if field.get("label") else ""
    needed = "required" if field.get("required") else "optional"
    return f"{_shown(str(field.get('name')))}{label}: {needed}, {_shown(kind)}"


def _unknown(wait: Asked) -> Iterator[str]:
    yield _labelled("known", _shown(wait.message))
    for name, what in (("request", "it was begun with"), ("request_now", "it would ask by now for")):
        told = mapping(wait.asked.get(name))
        if told:
            yield from _block("", [what, *_indented(json_lines(dict(told)))])
    for outcome, meaning in _OUTCOMES:
        yield _labelled("", f"{outcome:8}{meaning}")


_OUTCOMES = (
    ("done", "it took place; --answer FILE has the keys that the step would have set"),
    ("retry", "it did not, and is done again"),
    ("failed", "it did not, and the run goes on with the error of the step"),
)


def _value(value: JsonValue) -> str:
    """Write a choice as an answer in YAML has it: text that reads like something else is quoted."""
    return cast(str, value) if _is_plain(value) else dump_json(value)


def _is_plain(value: JsonValue) -> bool:
    return isinstance(value, str) and value.replace("_", "").replace(" ", "").isalpha() and value not in _WORDS


_WORDS = frozenset(("true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL"))


def _text_lines(value: JsonValue) -> list[str]:
    text = value if isinstance(value, str) else dump_json(value)
    return [_shown(line) for line in redact(text).replace("\r\n", "\n").rstrip("\n").split("\n")]


def _shown(text: str) -> str:
    return printable(redact(text))


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _block(label: str, lines: list[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        yield _labelled("" if index else label, line)


def _labelled(label: str, line: str) -> str:
    return f"{label:{_LABEL}}{line}".rstrip()
