"""Field values: JSON on this side, Python objects on the database's, one fixed form for each type."""

import base64
import binascii
import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Protocol, assert_never
from uuid import UUID

from tuvl.spec.field_types import FieldType
from tuvl.values import JsonValue, NotJsonError, is_storable, storable_json, to_json

MAX_NUMERIC_DIGITS = 500
"""Most digits of a `numeric`, before and after the point: what any database keeps, and no payload needs more."""

_WHOLE = {"smallint": 2**15, "integer": 2**31, "bigint": 2**63}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Field(Protocol):
    """What decides which values a field takes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> FieldType:
        """The type of its values."""

    @property
    def enum_values(self) -> tuple[str, ...] | None:
        """Allowed values, for `type: enum`."""


class WrongValue(ValueError):
    """A value that a field cannot take; the message says what it takes, never what came."""


def read_value(field: Field, value: JsonValue) -> object:
    """Return the Python object that a JSON value stands for in this field; raises `WrongValue`. `None` stays."""
    if value is None:
        return None
    match field.type:
        case "string" | "text" | "varchar":
            return read_text(value)
        case "enum":
            return _one_of(value, field.enum_values or ())
        case "integer" | "bigint" | "smallint":
            return _whole(value, _WHOLE[field.type])
        case "numeric":
            return _numeric(value)
        case "float":
            return _float(value)
        case "boolean":
            return _boolean(value)
        case "uuid" | "date" | "timestamp" | "timestamptz" | "bytea":
            return _from_text(field, value)
        case "jsonb":
            return _json(value)
        case _:
            assert_never(field.type)


def json_value(field: Field, value: object) -> JsonValue:
    """Return the JSON form of what the database gave."""
    if value is None:
        return None
    match field.type:
        case "numeric":
            return format(value, "f") if isinstance(value, Decimal) else str(value)
        case "bytea":
            return base64.b64encode(bytes(value)).decode() if isinstance(value, bytes | memoryview) else None
        case "timestamptz":
            return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
        case _:
            return to_json(value, where=field.name)


def decimal_key(text: str | None) -> str | None:
    """Return a text that sorts the way the decimal number does; for databases that cannot compare decimals exactly."""
    if text is None:
        return None
    number = Decimal(text)
    if number == 0:
        return "1"
    digits = "".join(map(str, number.as_tuple().digits)).lstrip("0").rstrip("0")
    magnitude = f"{number.adjusted() + 50_000:05d}{digits}"
    if number > 0:
        return f"2{magnitude}"
    # Negative numbers run the other way; the last character puts a longer one, which is smaller, first.
    return "0" + "".join(str(9 - int(digit)) for digit in magnitude) + "~"


def read_text(value: JsonValue) -> str:
    """Return a text that a database takes; raises `WrongValue`."""
    if not isinstance(value, str):
        raise WrongValue("takes a text")
    if not is_storable(value):
        raise WrongValue("takes a text without NUL characters and halves of characters")
    return value


def _whole(value: JsonValue, bound: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
        raise WrongValue(f"takes a whole number from {-bound} to {bound - 1}")
    return value


def _one_of(value: JsonValue, allowed: tuple[str, ...]) -> JsonValue:
    if value not in allowed:
        raise WrongValue(f"takes one of {', '.join(map(repr, allowed))}")
    return value


def _boolean(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("takes true or false")
    return value


def _float(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValue("takes a number")
    try:
        return float(value)
    except OverflowError:
        raise WrongValue("takes a number that a float can hold") from None


def _numeric(value: JsonValue) -> Decimal:
    wanted = WrongValue(f"takes a decimal number of at most {MAX_NUMERIC_DIGITS} digits, best given as a text")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wanted
    try:
        # A float goes through its shortest text: 0.1 is meant as 0.1.
        number = Decimal(str(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError):
        raise wanted from None
    if not number.is_finite():
        raise wanted
    exponent = number.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) else 0
    if number.adjusted() >= MAX_NUMERIC_DIGITS or places > MAX_NUMERIC_DIGITS:
        raise wanted
    return number


def _from_text(field: Field, value: JsonValue) -> object:
    if not isinstance(value, str):
        raise WrongValue(_WANTED[field.type])
    try:
        match field.type:
            case "uuid":
                return UUID(value)
            case "date":
                if not _DATE.fullmatch(value):
                    raise WrongValue(_WANTED["date"])
                return date.fromisoformat(value)
            case "bytea":
                return base64.b64decode(value, validate=True)
            case _:
                return _moment(value, zoned=field.type == "timestamptz")
    except (ValueError, binascii.Error) as error:
        raise error if isinstance(error, WrongValue) else WrongValue(_WANTED[field.type]) from None


def _moment(text: str, *, zoned: bool) -> datetime:
    moment = datetime.fromisoformat(text)
    if (moment.tzinfo is not None) != zoned:
        raise WrongValue(_WANTED["timestamptz" if zoned else "timestamp"])
    if not zoned:
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise WrongValue("takes a time from the year 1 to the year 9999, counted in UTC") from None


_WANTED = {
    "uuid": "takes a UUID, as a text",
    "date": "takes a date, as a text such as 2030-01-31",
    "timestamp": "takes a time without a zone, as a text such as 2030-01-31T12:00:00",
    "timestamptz": "takes a time with its zone, as a text such as 2030-01-31T12:00:00+00:00",
    "bytea": "takes bytes, as a text in base64",
}


def _json(value: JsonValue) -> JsonValue:
    try:
        clean = to_json(value)
    except NotJsonError as error:
        raise WrongValue(f"takes JSON; {error}") from None
    if storable_json(clean) != clean:
        raise WrongValue("takes JSON whose texts have no NUL characters and no halves of characters")
    return clean
