"""`filters` and `order_by` → SQL conditions, from a closed set of operators."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, assert_never, get_args

from sqlalchemy import ColumnElement, String, Table, UnaryExpression, false, func, true

from tuvl.data.engines import DECIMAL_KEY
from tuvl.data.model import DataModel
from tuvl.data.values import WrongValue, decimal_key, json_value, read_text, read_value
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.spec.data import DataField
from tuvl.suggest import did_you_mean
from tuvl.values import JsonValue

FilterOperator: TypeAlias = Literal[
    "eq", "neq", "gt", "gte", "lt", "lte", "in", "not_in", "contains", "starts_with", "is_null"
]
OPERATORS: tuple[FilterOperator, ...] = get_args(FilterOperator)

_TEXTS = frozenset({"string", "text", "varchar", "enum"})
_UNORDERED = frozenset({"boolean", "uuid", "jsonb", "bytea"})
MOST_VALUES = 10_000
"""Values that one `in` may list: databases take so many in one statement, and three times that is too many."""

_REVEALING = frozenset({"gt", "gte", "lt", "lte", "contains", "starts_with"})
"""Operators with which a masked value could be found out, guess by guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """What one condition is about."""

    field: DataField
    column: ColumnElement[object]
    sqlite: bool


def conditions(
    filters: Mapping[str, JsonValue], model: DataModel, table: Table, *, sqlite: bool
) -> Iterator[ColumnElement[bool]]:
    """Yield a condition for each filter: a value is equality, `null` is emptiness, a mapping names operators."""
    for name, given in filters.items():
        field = model.fields.get(name)
        if field is None:
            raise unknown_field(name, model, "filters")
        site = _Site(field=field, column=table.c[name], sqlite=sqlite)
        if isinstance(given, dict):
            for operator, operand in given.items():
                yield _condition(site, _operator(operator, name), operand)
        elif isinstance(given, list):
            raise _wrong(name, "a list; to match any of several values write {in: [...]}")
        else:
            yield _condition(site, "eq", given)


def ordering(order_by: Sequence[str], model: DataModel, table: Table, *, sqlite: bool) -> list[ColumnElement[object]]:
    """Return what a list is sorted by: the fields named, then the key, so that the order is always the same."""
    order: list[ColumnElement[object]] = []
    named: set[str] = set()
    for text in order_by:
        name = text.removeprefix("-")
        field = model.fields.get(name)
        if field is None:
            raise unknown_field(name, model, "order_by")
        named.add(name)
        column = _comparable(_Site(field=field, column=table.c[name], sqlite=sqlite))
        ordered: UnaryExpression[object] = column.desc() if text.startswith("-") else column.asc()
        # Databases disagree on where records without a value go.
        order.append(ordered.nulls_last())
    return [*order, *(table.c[name] for name in model.keys if name not in named)]


def unknown_field(name: str, model: DataModel, place: str) -> StepError:
    """Return the error for a field that the model does not have."""
    hint = did_you_mean(name, sorted(model.fields)) or f"it has {', '.join(sorted(model.fields))}"
    return StepError(
        f"{place}: data model {model.name!r} has no field {name!r}; {hint}",
        type="unknown_field",
        detail={"model": model.name, "field": name},
    )


def _operator(name: str, field: str) -> FilterOperator:
    if name not in OPERATORS:
        hint = did_you_mean(name, OPERATORS) or f"there are {', '.join(OPERATORS)}"
        raise StepError(
            f"filters: {name!r} of field {field!r} is no operator; {hint}", type="bad_filter", detail={"field": field}
        )
    return name


def _condition(site: _Site, operator: FilterOperator, operand: JsonValue) -> ColumnElement[bool]:
    field = site.field
    if field.secure and operator in _REVEALING:
        raise _wrong(field.name, f"{operator!r}; a secure field can be compared for equality only")
    match operator:
        case "is_null":
            if not isinstance(operand, bool):
                raise _wrong(field.name, "something else than true or false for 'is_null'")
            return site.column.is_(None) if operand else site.column.is_not(None)
        case "eq" | "neq" if operand is None:
            return site.column.is_(None) if operator == "eq" else site.column.is_not(None)
        case "contains" | "starts_with":
            return _part(site, operator, operand)
        case "in" | "not_in":
            return _any_of(site, operand, negated=operator == "not_in")
        case "eq" | "neq" | "gt" | "gte" | "lt" | "lte":
            return _compared(site, operator, operand)
        case _:
            assert_never(operator)


def _compared(
    site: _Site, operator: Literal["eq", "neq", "gt", "gte", "lt", "lte"], operand: JsonValue
) -> ColumnElement[bool]:
    field = site.field
    if operator not in ("eq", "neq") and field.type in _UNORDERED:
        raise _wrong(field.name, f"{operator!r}, but values of type {field.type!r} have no order")
    column, value = _comparable(site), _operand(site, operand)
    match operator:
        case "eq":
            return column == value
        case "neq":  # a record without a value differs from every value
            return (column != value) | site.column.is_(None)
        case "gt":
            return column > value
        case "gte":
            return column >= value
        case "lt":
            return column < value
        case "lte":
            return column <= value
        case _:
            assert_never(operator)


def _any_of(site: _Site, operand: JsonValue, *, negated: bool) -> ColumnElement[bool]:
    if not isinstance(operand, list):
        raise _wrong(site.field.name, "something else than a list for 'in'")
    if len(operand) > MOST_VALUES:
        raise _wrong(site.field.name, f"{len(operand)} values for 'in'; it takes {MOST_VALUES} at most")
    values = [_operand(site, value) for value in operand if value is not None]
    found: ColumnElement[bool] = _comparable(site).in_(values) if values else false()
    if None in operand:
        found = found | site.column.is_(None)
        return ~found if negated else found
    if not negated:
        return found
    return (~found | site.column.is_(None)) if values else true()


def _part(site: _Site, operator: Literal["contains", "starts_with"], operand: JsonValue) -> ColumnElement[bool]:
    if site.field.type not in _TEXTS or not isinstance(operand, str):
        raise _wrong(site.field.name, f"{operator!r}, which is for texts")
    try:
        operand = read_text(operand)
    except WrongValue as error:
        raise _unfit(site.field, error) from None
    # Not LIKE: databases disagree on its case, and a text may hold its wildcards.
    if operator == "starts_with":
        return func.substr(site.column, 1, len(operand)) == operand
    find = func.instr if site.sqlite else func.strpos
    return find(site.column, operand) > 0


def _comparable(site: _Site) -> ColumnElement[object]:
    if site.field.type == "numeric" and site.sqlite:
        return getattr(func, DECIMAL_KEY)(site.column, type_=String)  # type: ignore[no-any-return]
    return site.column


def _operand(site: _Site, operand: JsonValue) -> object:
    field = site.field
    if field.type == "jsonb":
        raise _wrong(field.name, "a value, but of a jsonb field only 'is_null' can be asked")
    if operand is None:
        raise _wrong(field.name, "null; ask with 'is_null'")
    try:
        value = read_value(field, operand)
    except WrongValue as error:
        raise _unfit(field, error) from None
    if field.type == "numeric" and site.sqlite:
        return decimal_key(str(json_value(field, value)))
    return value


def _unfit(field: DataField, error: WrongValue) -> StepError:
    return StepError(f"filters: field {field.name!r} {error}", type="bad_filter", detail={"field": field.name})


def _wrong(field: str, what: str) -> StepError:
    return StepError(f"filters: field {field!r} was given {what}", type="bad_filter", detail={"field": field})
