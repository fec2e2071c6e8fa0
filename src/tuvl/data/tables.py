"""Data models → SQLAlchemy tables, the same records on SQLite and PostgreSQL."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Double,
    Enum,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from tuvl.data.model import DataModel
from tuvl.spec.data import DataField

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "pk": "pk_%(table_name)s",
}
"""Constraints have names of their own, so that a violation can be told by its column."""


class ExactDecimal(TypeDecorator[Decimal]):
    """Decimals as they are: `numeric` on PostgreSQL, text on SQLite, whose own numbers are binary fractions."""

    impl = Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else Numeric())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> object:
        """Write a value."""
        return format(value, "f") if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: object, dialect: Dialect) -> Decimal | None:
        """Read a value."""
        return None if value is None else Decimal(str(value))


class UtcMoment(TypeDecorator[datetime]):
    """Moments with a zone: `timestamptz` on PostgreSQL; SQLite has no zones and gets them in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Write a value."""
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read a value."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def numbered() -> Column[int]:
    """Return the key of rows that the database counts, in the order in which they come."""
    # A column called INTEGER is what SQLite numbers by itself.
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)


def json_type() -> JSON:
    """Return the type of JSON columns; JSON's `null` is SQL's."""
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


_TYPES: Mapping[str, TypeEngine[Any]] = {
    "string": String(),
    "varchar": String(),
    "text": Text(),
    "integer": Integer(),
    "bigint": BigInteger(),
    "smallint": SmallInteger(),
    "numeric": ExactDecimal(),
    "float": Double(),
    "boolean": Boolean(),
    "uuid": Uuid(),
    "date": Date(),
    "timestamp": DateTime(),
    "timestamptz": UtcMoment(),
    "jsonb": json_type(),
    "bytea": LargeBinary(),
}


def column_type(field: DataField) -> TypeEngine[Any]:
    """Return the column type of a field."""
    if field.type == "enum":
        allowed = field.enum_values or ()
        return Enum(*allowed, native_enum=False, create_constraint=True, name=field.name)
    type_ = _TYPES[field.type]
    if field.primary_key and field.type in ("bigint", "smallint"):
        # SQLite numbers records by itself only in a column that is called INTEGER, which holds 64 bits there.
        return type_.with_variant(Integer(), "sqlite")
    return type_


def make_table(model: DataModel, models: Mapping[str, DataModel], metadata: MetaData) -> Table:
    """Return the table of a model; foreign keys refer to models of the same data source only."""
    foreign = {
        relation.foreign_key: models[relation.model]
        for relation in model.spec.relations
        if model.holds_key_of(relation)
        and relation.model in models
        and models[relation.model].source == model.source
        and len(models[relation.model].keys) == 1
    }
    return Table(
        model.spec.tablename, metadata, *(_column(field, model, foreign.get(field.name)) for field in model.spec.fields)
    )


def _column(field: DataField, model: DataModel, refers_to: DataModel | None) -> Column[Any]:
    # `use_alter`: tables may refer to each other in a circle.
    key = (
        [ForeignKey(f"{refers_to.spec.tablename}.{refers_to.keys[0]}", use_alter=True)] if refers_to is not None else []
    )
    return Column(
        field.name,
        column_type(field),
        *key,
        primary_key=field.primary_key,
        nullable=not (field.required or field.primary_key),
        unique=(field.unique and not (field.primary_key and len(model.keys) == 1)) or None,
        index=(field.index and not field.unique and not field.primary_key) or None,
    )
