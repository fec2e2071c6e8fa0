"""Types of the fields of a data model; imports nothing, so that checks can name them too."""

from typing import Literal, TypeAlias, get_args

FieldType: TypeAlias = Literal[
    "string",
    "text",
    "varchar",
    "integer",
    "bigint",
    "smallint",
    "numeric",
    "float",
    "boolean",
    "uuid",
    "date",
    "timestamp",
    "timestamptz",
    "jsonb",
    "bytea",
    "enum",
]

FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
