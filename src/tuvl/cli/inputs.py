"""What a run is given from outside: `--input`, `--set` and `--principal`, read and checked before anything runs."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tuvl.errors import UsageError
from tuvl.principal import Principal
from tuvl.source.loading import load_data
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue, NotJsonError, to_json

STDIN = "-"
_PRINCIPAL_FIELDS = ("id", "tenant", "groups", "scopes")


def read_bytes(path: Path, *, option: str) -> bytes:
    """Read a file that an option named; raises `UsageError` with the reason in plain words."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{option} names {str(path)!r}, which does not exist") from None
    except IsADirectoryError:
        raise UsageError(f"{option} names {str(path)!r}, which is a folder; name a file") from None
    except OSError as error:
        raise UsageError(f"{option} names {str(path)!r}, which cannot be read: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def read_input(source: str | None) -> JsonObject:
    """Read the initial context from a JSON or YAML file, from stdin for `-`; without a source it is empty."""
    if source is None:
        return {}
    if source == STDIN:
        data = load_data(sys.stdin.buffer.read(), name="stdin")
        name = "stdin"
    else:
        data = load_data(read_bytes(Path(source), option="--input"), name=source)
        name = source
    if not isinstance(data, dict):
        raise UsageError(f"the input in {name} is {_kind(data)}; an input is a mapping of names to values")
    return data


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"


def apply_settings(data: JsonObject, settings: Sequence[str], schema: Mapping[str, JsonValue] | None) -> None:
    """Lay `--set key=value` over the input, in order.

    A key is a dot path through mappings. A value is JSON where it reads as JSON, else text; a key that the input
    schema declares as a string takes the text as it stands, so that `--set id=007` needs no second quoting.
    """
    for setting in settings:
        key, equals, text = setting.partition("=")
        path = key.split(".")
        if not equals or not all(path):
            raise UsageError(f"--set {setting!r} is not of the form key=value, e.g. --set ticket.id=T-1")
        target = data
        for depth, part in enumerate(path[:-1]):
            inner = target.setdefault(part, {})
            if not isinstance(inner, dict):
                at = ".".join(path[: depth + 1])
                raise UsageError(f"--set {key!r} goes through {at!r}, which is {_kind(inner)}, not a mapping")
            target = inner
        value = text if _declared_text(schema, path) else _value(text)
        try:
            target[path[-1]] = to_json(value, where=f"the value of --set {key!r}")
        except NotJsonError as error:
            raise UsageError(str(error)) from None


def _declared_text(schema: Mapping[str, JsonValue] | None, path: Sequence[str]) -> bool:
    here: JsonValue = dict(schema or {})
    for part in path:
        properties = here.get("properties") if isinstance(here, dict) else None
        here = properties.get(part) if isinstance(properties, dict) else None
    return isinstance(here, dict) and here.get("type") == "string"


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return value


def _refuse(name: str) -> JsonValue:
    raise ValueError(name)


def read_principal(source: str | None) -> Principal:
    """Read who the run acts for; without a file it is the local operator, who has every scope.

    A principal from a file has the scopes that the file lists and no others.
    """
    if source is None:
        return Principal()
    data = load_data(read_bytes(Path(source), option="--principal"), name=source)
    if not isinstance(data, dict):
        raise UsageError(f"the principal in {source} is {_kind(data)}; write a mapping with an `id`")
    for field in data:
        if field not in _PRINCIPAL_FIELDS:
            hint = did_you_mean(field, _PRINCIPAL_FIELDS) or f"it has {', '.join(_PRINCIPAL_FIELDS)}"
            raise UsageError(f"the principal in {source} has no field {field!r}; {hint}")
    identity, tenant = data.get("id"), data.get("tenant")
    if not isinstance(identity, str) or not identity:
        raise UsageError(f"the principal in {source} needs an `id`, a text")
    if tenant is not None and (not isinstance(tenant, str) or not tenant):
        raise UsageError(f"`tenant` of the principal in {source} must be a text or null")
    return Principal(
        id=identity,
        tenant=tenant,
        groups=_names(data.get("groups", []), field="groups", source=source),
        scopes=_names(data.get("scopes", []), field="scopes", source=source),
    )


def _names(value: JsonValue, *, field: str, source: str) -> frozenset[str]:
    if not isinstance(value, list):
        raise UsageError(f"`{field}` of the principal in {source} must be a list of texts")
    names = [item for item in value if isinstance(item, str) and item]
    if len(names) != len(value):
        raise UsageError(f"`{field}` of the principal in {source} must hold non-empty texts only")
    return frozenset(names)
