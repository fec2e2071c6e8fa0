"""Type hints at work: what a model is told of a value, and the value made of what it sent. All of pydantic's part."""

import json
import warnings
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticInvalidForJsonSchema,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue, NotJsonError, dump_json, format_path, shorten, to_json

Value = TypeVar("Value")

_UNUSABLE = (PydanticUserError, PydanticInvalidForJsonSchema, NameError, TypeError, ValueError)


class NotTypableError(ValueError):
    """A type hint that no JSON value fits; the message says why not. `name` is the field, when there is one."""

    def __init__(self, message: str, *, name: str | None = None) -> None:
        super().__init__(message)
        self.name = name


class NotOfTypeError(ValueError):
    """A value that does not have its type; the message names places and rules, never the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedField:
    """One named value: its type hint and, when it may be left out, its default."""

    hint: object
    optional: bool = False
    default: object = None


class TypedFields:
    """A JSON object with typed fields, such as the arguments of a function."""

    def __init__(self, fields: Mapping[str, TypedField]) -> None:
        """Prepare the fields; raises `NotTypableError` for the first one that has no JSON form."""
        # Numbered names: `json`, `copy` or `model_config` are fine arguments and no fine attributes of a model.
        self._names = {f"field_{number}": name for number, name in enumerate(fields)}
        try:
            self._model = _object(fields, self._names)
            self.schema = _schema_of_model(self._model)
        except _UNUSABLE as error:
            raise _culprit(fields) or NotTypableError(_reason(error)) from error

    def read(self, values: JsonObject) -> dict[str, object]:
        """Return the typed values that were given; what was left out is left out. Raises `NotOfTypeError`."""
        try:
            # From JSON text: only then does pydantic know that a date can only have come as a string.
            found = self._model.model_validate_json(dump_json(values))
        except ValidationError as error:
            raise NotOfTypeError(_problems(error)) from None
        return {self._names[key]: getattr(found, key) for key in self._names if key in found.model_fields_set}


def schema_of(hint: object) -> JsonObject:
    """Return the JSON Schema of a type; raises `NotTypableError`."""
    try:
        return _schema_of_adapter(TypeAdapter(cast(Any, hint)))
    except _UNUSABLE as error:
        raise NotTypableError(_reason(error)) from error


def read_as(value: JsonValue, kind: type[Value]) -> Value:
    """Return a JSON value as a Python one; raises `NotOfTypeError`."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value))
    except ValidationError as error:
        raise NotOfTypeError(_problems(error)) from None


class _Plain(GenerateJsonSchema):
    """Without titles: they repeat the names, and a model pays for every word."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _object(fields: Mapping[str, TypedField], names: Mapping[str, str]) -> type[BaseModel]:
    declared: dict[str, Any] = {
        key: (fields[name].hint, _field(fields[name], alias=name)) for key, name in names.items()
    }
    return create_model("Arguments", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **declared)


def _field(field: TypedField, *, alias: str) -> Any:
    if not field.optional:
        return Field(alias=alias)
    try:
        shown = to_json(field.default)
    except NotJsonError:  # the function knows its default, and the model need not
        return Field(alias=alias, default_factory=lambda: None)
    return Field(alias=alias, default_factory=lambda: None, json_schema_extra={"default": cast(Any, shown)})


def _schema_of_model(model: type[BaseModel]) -> JsonObject:
    schema = model.model_json_schema(schema_generator=_Plain)
    schema.pop("title", None)
    return cast(JsonObject, {"type": "object", "properties": {}, **schema})


def _schema_of_adapter(adapter: TypeAdapter[Any]) -> JsonObject:
    return cast(JsonObject, adapter.json_schema(schema_generator=_Plain))


def _culprit(fields: Mapping[str, TypedField]) -> NotTypableError | None:
    for name, field in fields.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                schema_of(field.hint)
        except NotTypableError as error:
            return NotTypableError(str(error), name=name)
    return None


def _reason(error: Exception) -> str:
    return shorten(str(error).split("\n\n")[0].splitlines()[0] if str(error) else type(error).__name__)


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(_problem(each) for each in found[:5])


def _problem(each: ErrorDetails) -> str:
    where = format_path(each["loc"])
    said = shorten(each["msg"])
    return f"{where}: {said}" if where else said
