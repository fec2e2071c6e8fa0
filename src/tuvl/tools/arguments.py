"""The arguments of a tool call: read from what the model sent, then checked against the declared schema.

Models send nothing, `null`, an empty string, a decoded object, JSON text, or JSON text inside JSON text. All of
those have one reading; anything else is a problem that is told to the model, short, and never with its own value.
"""

import json
import logging
from collections.abc import Mapping
from typing import NoReturn, cast

from tuvl.dataclass import dataclass
from tuvl.tools.schema import ValueSchema
from tuvl.tools.tool import ArgValidation
from tuvl.values import JsonObject, JsonValue, NotJsonError, dump_json, to_json

log = logging.getLogger("tuvl.tools")

MAX_BYTES = 64 * 1024
"""Size past which arguments are refused unread."""

EMPTY = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How one call's arguments were read: the values, or the problem to tell the model.

    `history` is what goes back to the provider: the text as it came when it was sound, else `{}`, since providers
    refuse a history that holds malformed arguments.
    """

    values: JsonObject
    problem: str | None = None
    history: str = EMPTY


def read_arguments(raw: JsonValue) -> Arguments:
    """Read what came under `arguments`, before any schema is looked at."""
    try:
        values = _read(raw)
        own = cast(JsonObject, to_json(values, where="arguments"))
    except (_Unreadable, NotJsonError) as problem:
        return Arguments(values={}, problem=str(problem))
    if isinstance(raw, str) and raw.lstrip().startswith("{"):
        return Arguments(values=own, history=raw)
    return Arguments(values=own, history=dump_json(own))


class _Unreadable(ValueError):
    """The arguments are no JSON object; the message is told to the model."""


def _read(raw: JsonValue) -> Mapping[str, JsonValue]:
    if raw is None:
        return {}
    if isinstance(raw, dict):
        return raw
    if not isinstance(raw, str):
        raise _Unreadable(f"the arguments must be a JSON object, not {_kind(raw)}")
    if len(raw) > MAX_BYTES or len(raw.encode(errors="replace")) > MAX_BYTES:
        raise _Unreadable(f"the arguments are larger than {MAX_BYTES} bytes")
    if not raw.strip():
        return {}
    value = _parse(raw)
    if isinstance(value, str):  # the whole object encoded twice
        value = _parse(value) if value.strip() else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unreadable(f"the arguments must be a JSON object, not {_kind(value)}")
    return value


def _parse(text: str) -> JsonValue:
    try:
        return cast(JsonValue, _DECODER.decode(text))
    except _Unreadable:
        raise
    except RecursionError:
        raise _Unreadable("the arguments are nested too deeply") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not a number JSON can hold"
        raise _Unreadable(f"the arguments are not valid JSON: {reason}") from None


def _refuse(constant: str) -> NoReturn:
    raise _Unreadable(f"the arguments are not valid JSON: {constant} is no JSON number")


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _Unreadable("the arguments repeat a key")
    return values


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "another type")


def check_arguments(values: JsonObject, schema: ValueSchema, mode: ArgValidation) -> tuple[JsonObject, str | None]:
    """Check arguments against the tool's schema; returns them, decoded or coerced, and the problem, if any."""
    reserved = sorted([name for name in values if name.startswith("_")])
    problems: list[str] = []
    if mode != "none" and not schema.is_valid(values):
        values = cast(JsonObject, _fitted(values, schema.schema, coerce=mode == "lenient"))
        problems = [str(violation) for violation in schema.violations(values)]
    problems += [f"the name of argument {name[:64]!r} is reserved: it starts with '_'" for name in reserved]
    return values, "; ".join(problems) or None


def _fitted(value: JsonValue, schema: JsonValue, *, coerce: bool) -> JsonValue:
    """Decode what a provider encoded twice, and in lenient mode coerce scalars, only where the schema asks for it."""
    if not isinstance(schema, dict):
        return value
    wanted = schema.get("type")
    types: list[JsonValue] = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if isinstance(value, str) and types and "string" not in types:
        value = _from_text(value, types, coerce=coerce)
    elif coerce and types == ["string"] and isinstance(value, int | float) and not isinstance(value, bool):
        log.info("coerced an argument from number to string")
        value = dump_json(value)
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {key: _fitted(item, properties.get(key), coerce=coerce) for key, item in value.items()}
    if isinstance(value, list) and isinstance(items, dict):
        return [_fitted(item, items, coerce=coerce) for item in value]
    return value


def _from_text(text: str, types: list[JsonValue], *, coerce: bool) -> JsonValue:
    try:
        decoded = _parse(text)
    except _Unreadable:
        return text
    kind = {dict: "object", list: "array", bool: "boolean", int: "integer", float: "number"}.get(type(decoded))
    if kind in ("object", "array"):
        if kind not in types:
            return text
        log.info("read an argument that was encoded twice: %s in a string", kind)
        return decoded
    if not coerce or kind is None or not (kind in types or (kind == "integer" and "number" in types)):
        return text
    log.info("coerced an argument from string to %s", kind)
    return decoded
