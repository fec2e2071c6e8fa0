"""Does a table have the columns that its data model says? Nothing is altered: what differs is named."""

import re
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Dialect, Enum, Inspector, Table, inspect
from sqlalchemy import types as sql

_FAMILIES: tuple[tuple[type[sql.TypeEngine[Any]], str], ...] = (
    (sql.BigInteger, "bigint"),
    (sql.SmallInteger, "smallint"),
    (sql.Integer, "integer"),
    (sql.Float, "float"),
    (sql.Numeric, "numeric"),
    (sql.Boolean, "boolean"),
    (sql.Uuid, "uuid"),
    (sql.DateTime, "timestamp"),
    (sql.Date, "date"),
    (sql.JSON, "jsonb"),
    (sql.LargeBinary, "bytea"),
    (sql.String, "text"),
)
"""Column types that hold the same values; the more special ones come first."""

_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def drift_of(connection: Connection, table: Table) -> list[str]:
    """Return what differs between a table in the database and its model, a line for each column; empty when nothing."""
    inspector = inspect(connection)
    found = {column["name"]: column for column in inspector.get_columns(table.name)}
    problems = [f"column {name!r} is in the table and not in the model" for name in found if name not in table.columns]
    for column in table.columns:
        actual = found.get(column.name)
        if actual is None:
            problems.append(f"column {column.name!r} is in the model and not in the table")
            continue
        wanted, got = family(column.type, connection.dialect), family(actual["type"], connection.dialect)
        if wanted != got:
            problems.append(f"column {column.name!r} holds {got} in the table and {wanted} in the model")
        elif bool(actual["nullable"]) != bool(column.nullable) and not column.primary_key:
            more = "may be empty" if actual["nullable"] else "may not be empty"
            problems.append(f"column {column.name!r} {more} in the table, and not so in the model")
    return [*problems, *_constraints(inspector, table, set(found))]


def family(type_: sql.TypeEngine[Any], dialect: Dialect) -> str:
    """Name what a column type holds, as far as this database tells types apart."""
    actual = type_.dialect_impl(dialect)
    if isinstance(actual, sql.TypeDecorator):
        actual = actual.impl_instance
    name = next((name for kind, name in _FAMILIES if isinstance(actual, kind)), type(actual).__name__.lower())
    if dialect.name == "sqlite":
        # SQLite keeps these in the same way, and reports them by names of its own.
        return {"bigint": "integer", "smallint": "integer", "uuid": "text"}.get(name, name)
    if name == "timestamp" and getattr(actual, "timezone", False):
        return "timestamptz"
    return name


def _constraints(inspector: Inspector, table: Table, found: set[str]) -> Iterator[str]:
    keys = set(inspector.get_pk_constraint(table.name)["constrained_columns"])
    wanted = {column.name for column in table.primary_key.columns}
    if keys != wanted:
        listed = ", ".join(map(repr, sorted(keys))) or "no column"
        yield f"the primary key of the table is {listed}; in the model it is {', '.join(map(repr, sorted(wanted)))}"
    unique = {frozenset[str | None](each["column_names"]) for each in inspector.get_unique_constraints(table.name)}
    unique |= {frozenset(each["column_names"]) for each in inspector.get_indexes(table.name) if each["unique"]}
    for column in table.columns:
        if column.unique and column.name in found and frozenset({column.name}) not in unique:
            yield f"column {column.name!r} is unique in the model and not in the table"
    yield from _enums(inspector, table, found)


def _enums(inspector: Inspector, table: Table, found: set[str]) -> Iterator[str]:
    checks = {each["name"]: str(each["sqltext"]) for each in inspector.get_check_constraints(table.name)}
    for column in table.columns:
        if not isinstance(column.type, Enum) or column.name not in found:
            continue
        # Databases rewrite the condition; the values in it stay what they are.
        text = checks.get(f"ck_{table.name}_{column.name}", "")
        allowed = {value.replace("''", "'") for value in _QUOTED.findall(text)}
        if allowed != set(column.type.enums):
            listed = ", ".join(map(repr, sorted(allowed))) or "anything"
            yield f"column {column.name!r} takes {listed} in the table, and other values in the model"
