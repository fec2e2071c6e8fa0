"""Data a person hands in, as JSON or YAML, with one clear message when it is neither."""

import json
from typing import Literal, NoReturn

from tuvl.errors import UsageError
from tuvl.source.decode import decode
from tuvl.source.document import Document, SourceFile, parse_lines
from tuvl.source.place import SourceProblem
from tuvl.values import JsonObject, JsonValue, NotJsonError, to_json

DataFormat = Literal["json", "yaml"]


class _NotJson(ValueError):
    """What `json` lets pass and JSON does not; the message says what."""


class _RepeatedKey(_NotJson):
    """An object with a key twice, of which `json` would silently take the last."""


def load_data(raw: bytes, *, name: str, format: DataFormat | None = None) -> JsonValue:
    """Read one JSON or YAML value; `name` is how messages call the source.

    Without `format` the ending of `name` decides, and without a known ending JSON is tried first. Raises `UsageError`
    for text that is not UTF-8, neither JSON nor YAML, more than one document, a repeated key, or not a JSON value.
    """
    text, problem = decode(raw)
    if problem is not None:
        raise _usage(name, problem)
    match format or _format_of(name):
        case "json":
            return _json(text, name)
        case "yaml":
            return _yaml(text, name)
        case None:
            return _yaml(text, name) if _only_yaml(text, name) else _json(text, name)


def _only_yaml(text: str, name: str) -> bool:
    """Whether a text of unknown format is YAML; what begins like JSON must first fail as JSON."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return True
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return not parse_lines(text, file=name).problems
    except (RecursionError, ValueError):
        return False
    return False


def _format_of(name: str) -> DataFormat | None:
    ending = name.lower().rpartition(".")[2]
    return "json" if ending == "json" else "yaml" if ending in ("yaml", "yml") else None


def _json(text: str, name: str) -> JsonValue:
    if not text.strip():
        raise UsageError(f"{name} is empty; it must hold a JSON value")
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite
        )
        return to_json(value, where=name)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}:{error.colno}: no JSON: {error.msg}") from None
    except NotJsonError as error:
        raise UsageError(str(error)) from None
    except _RepeatedKey as error:
        raise UsageError(f"{name}{_place_of_repeated_key(text, name)}: {error}") from None
    except _NotJson as error:
        raise UsageError(f"{name}: {error}") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deeply to be read") from None
    except ValueError:
        # The only one left: Python's guard against integers of thousands of digits.
        raise UsageError(f"{name} holds an integer of too many digits") from None


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise _RepeatedKey(f"the key {repeated!r} is given twice")
    return table


def _refuse_constant(text: str) -> NoReturn:
    raise _NotJson(f"{text} is not a JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _NotJson(f"{text} is too large a number")
    return value


def _place_of_repeated_key(text: str, name: str) -> str:
    # JSON is nearly always YAML too, and the YAML parser knows places.
    place = next(
        (problem.range.start for problem in parse_lines(text, file=name).problems if problem.code == "TV002"), None
    )
    return f":{place.line}:{place.column}" if place is not None else ""


def _yaml(text: str, name: str) -> JsonValue:
    source = parse_lines(text, file=name)
    problem = next((problem for problem in source.problems if problem.code != "TV004"), None)
    if problem is not None:
        raise _usage(name, problem)
    try:
        return to_json(_only_document(source, name).data, where=name)
    except NotJsonError as error:
        raise UsageError(str(error)) from None


def _only_document(source: SourceFile, name: str) -> Document:
    if not source.documents:
        raise UsageError(f"{name} is empty; it must hold a JSON or YAML value")
    if len(source.documents) > 1:
        line = source.documents[1].locate(()).start.line
        raise UsageError(f"{name}:{line}:1: a second document starts here; one value is expected")
    return source.documents[0]


def _usage(name: str, problem: SourceProblem) -> UsageError:
    line, column = problem.range.start
    return UsageError(f"{name}:{line}:{column}: {problem.message}; {problem.hint}")
