"""The final answer of an agent, read: text, or one JSON object, bare or in a fence."""

import json
import re
from typing import NoReturn, cast

from tuvl.values import JsonObject, JsonValue, NotJsonError, to_json

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)\r?$", re.MULTILINE)
"""An opening code fence of CommonMark 0.31, §4.5: three or more backticks or tildes, at most three spaces before."""


class UnreadableAnswerError(ValueError):
    """The text is no single JSON object; the message says why, without the text."""


def read_object(text: str) -> JsonObject:
    """Return the one JSON object that an answer is, or holds in its only JSON fence, whatever prose is around it."""
    text = text.lstrip("\ufeff").strip()
    if text.startswith(("{", "[")) or not _FENCE.search(text):
        return _parse_object(text)
    candidates: list[JsonObject] = []
    problem: UnreadableAnswerError | None = None
    for block in _fenced_blocks(text):
        if block.lstrip().startswith("{"):
            try:
                candidates.append(_parse_object(block.strip()))
            except UnreadableAnswerError as error:
                problem = error
    if problem is not None:
        raise problem
    if len(candidates) != 1:
        what = "no JSON object" if not candidates else f"{len(candidates)} JSON objects"
        raise UnreadableAnswerError(f"its code fences hold {what} instead of one")
    return candidates[0]


def _fenced_blocks(text: str) -> list[str]:
    """Return what stands inside each fence; an unclosed fence runs to the end of the text."""
    blocks: list[str] = []
    position = 0
    while opening := _FENCE.search(text, position):
        fence = opening["fence"]
        if fence[0] == "`" and "`" in opening["info"]:  # inline code, no fence
            position = opening.end()
            continue
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence)}{re.escape(fence[0])}*[ \t]*\r?$", re.MULTILINE)
        end = closing.search(text, opening.end())
        blocks.append(text[opening.end() : end.start() if end else len(text)])
        if end is None:
            break
        position = end.end()
    return blocks


def _parse_object(text: str) -> JsonObject:
    if not text.startswith("{"):
        raise UnreadableAnswerError("it is not a JSON object")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
        return cast(JsonObject, to_json(value, where="the answer"))
    except NotJsonError as error:
        raise UnreadableAnswerError(str(error)) from None
    except RecursionError:
        raise UnreadableAnswerError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UnreadableAnswerError("there is text after its JSON object") from None
        raise UnreadableAnswerError(f"its JSON is broken: {error.msg}") from None


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise UnreadableAnswerError("its JSON object repeats a key")
    return values


def _refuse(constant: str) -> NoReturn:
    raise UnreadableAnswerError(f"{constant} is no JSON number")
