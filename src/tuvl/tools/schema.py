"""JSON Schemas (Draft 2020-12) at work: tool arguments, run inputs, answers. The only importer of jsonschema-rs."""

from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue, dump_json, format_path, shorten

if TYPE_CHECKING:
    import jsonschema_rs

WANTED = {
    "type": "must be of type {}",
    "enum": "must be one of {}",
    "const": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "pattern": "must match the pattern {}",
    "format": "must be a valid {}",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
    "required": "required key {} is missing",
    "additionalProperties": "has unknown keys {}",
    "unevaluatedProperties": "has unknown keys {}",
    "uniqueItems": "must not repeat an item",
    "anyOf": "matches none of the allowed forms",
    "oneOf": "must match exactly one of the allowed forms",
    "not": "has a form that is not allowed",
    "falseSchema": "is not allowed here",
}
"""What a broken keyword asks for, filled from the schema: never with the offending value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One rule of a schema that a value breaks: where, and what is wanted. It never holds the value itself."""

    path: tuple[str | int, ...]
    keyword: str
    message: str

    def __str__(self) -> str:
        """Return e.g. `items[0].price: must be of type number`."""
        return f"{format_path(self.path)}: {self.message}" if self.path else self.message


class ValueSchema:
    """A schema that values are checked against; compiled on first use, then shared by all runs.

    Nothing is fetched for a `$ref`, and patterns run on a linear-time engine.
    """

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self.schema: JsonObject = dict(schema)

    @cached_property
    def _validator(self) -> "jsonschema_rs.Draft202012Validator":
        return _compile(self.schema)

    def is_valid(self, value: JsonValue) -> bool:
        """Tell whether a value fits, without saying why not; takes microseconds."""
        return self._validator.is_valid(value)

    def violations(self, value: JsonValue, *, most: int = 5) -> list[Violation]:
        """Return what is wrong with a value, at most `most` entries; an empty list when it fits."""
        if self._validator.is_valid(value):
            return []
        return [_violation(error) for error in islice(self._validator.iter_errors(value), most)]


def _compile(schema: JsonObject) -> "jsonschema_rs.Draft202012Validator":
    import jsonschema_rs  # 25 ms and 12 MB, for those who check a value

    return jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=jsonschema_rs.RegexOptions())


def _violation(error: "jsonschema_rs.ValidationError") -> Violation:
    keyword, asked = error.kind.name, error.kind.value
    if isinstance(asked, list):
        text = ", ".join(_shown(item) for item in asked)
    else:
        text = _shown(asked)
    message = WANTED.get(keyword, f"breaks the rule {keyword!r} of the schema").format(shorten(text))
    return Violation(path=tuple(error.instance_path), keyword=keyword, message=message)


def _shown(asked: object) -> str:
    return dump_json(asked) if isinstance(asked, bool | int | float | str | dict | None) else "…"


def schema_problem(schema: Mapping[str, JsonValue]) -> str | None:
    """Say in one line why something is no JSON Schema; `None` when it is one."""
    import jsonschema_rs  # see `_compile`

    try:
        jsonschema_rs.meta.validate(dict(schema))
        _compile(dict(schema))
    except (ValueError, jsonschema_rs.ValidationError) as error:
        return shorten(str(error).splitlines()[0])
    return None
