"""`kind: ModelDefinition` and `kind: DataSource`: records, and where they are kept."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuvl.spec.base import WORDS, Contract, Count, Envelope, Identifier, Json, Many, Needs, Ruled, Seconds, Text
from tuvl.spec.field_types import FieldType

EnvironmentText = Annotated[str, Field(pattern=r"^\$\{", json_schema_extra={WORDS: "`${VAR}`"})]


class DataField(Ruled):
    """One field of a data model, a column of its table."""

    needs: ClassVar[tuple[Needs, ...]] = (Needs("type", ("enum",), ("enum_values",)),)

    name: Identifier
    """Name of the field."""
    type: FieldType
    """Type of its values."""
    primary_key: bool = False
    """Whether it identifies a record."""
    required: bool = False
    """Whether a record must have it."""
    unique: bool = False
    """Whether no two records may share a value."""
    index: bool = False
    """Whether the column is indexed."""
    default: Json = None
    """Value of a record that gives none."""
    secure: bool = False
    """Whether its values are masked outside the database."""
    enum_values: Annotated[Many[Text], Field(min_length=1)] | None = None
    """Allowed values, for `type: enum`."""
    description: str | None = None
    """What it holds."""


class Relation(Contract):
    """How a data model refers to another."""

    name: Identifier
    """Name under which related records are included."""
    model: Text
    """Name of the other ModelDefinition."""
    foreign_key: Identifier
    """Field that holds the other record's primary key."""
    type: Literal["many_to_one", "one_to_many", "one_to_one"] = "many_to_one"
    """How many records are on each side."""


class Access(Contract):
    """What a principal must have to touch records; scope and groups must both hold when both are given."""

    read_scope: Text | None = None
    """Scope to read and list."""
    write_scope: Text | None = None
    """Scope to create and update."""
    delete_scope: Text | None = None
    """Scope to delete."""
    read_groups: Many[Text] = ()
    """Groups that may read and list; empty is all."""
    write_groups: Many[Text] = ()
    """Groups that may create and update; empty is all."""
    delete_groups: Many[Text] = ()
    """Groups that may delete; empty is all."""


class ModelDefinitionSpec(Contract):
    """Table, fields, relations and access of a data model."""

    tablename: Identifier
    """Name of the table."""
    datasource: Text | None = None
    """Name of the DataSource; default the embedded SQLite file."""
    fields: Annotated[Many[DataField], Field(min_length=1)]
    """Fields."""
    relations: Many[Relation] = ()
    """Relations to other data models."""
    access: Access | None = None
    """Who may touch records; default anyone who may run the workflow."""


class ModelDefinition(Envelope):
    """A kind of record."""

    kind: Literal["ModelDefinition"]
    """A kind of record."""
    spec: ModelDefinitionSpec
    """Table, fields, relations and access."""


class Connection(Contract):
    """Where a data source is, in parts."""

    host: Text | None = None
    """Host name."""
    port: Annotated[int, Field(ge=1, le=65535)] | EnvironmentText | None = None
    """Port; a number or `${VAR}`."""
    database: Text | None = None
    """Name of the database; for SQLite the path of the file."""
    username: Text | None = None
    """User name."""
    password: Text | None = None
    """Password; give it as `${VAR}`."""
    options: dict[str, str] = Field(default_factory=dict)
    """Further options of the driver."""


class Pooling(Contract):
    """How many connections are kept."""

    size: Count = 5
    """Connections kept open."""
    max_overflow: Annotated[int, Field(ge=0)] = 10
    """Further connections at busy times."""
    timeout_s: Seconds = 30.0
    """Seconds to wait for a free connection."""
    recycle_s: Seconds | None = None
    """Seconds after which a connection is replaced; `null` is off."""


class DataSourceSpec(Contract):
    """Where records are kept."""

    type: Literal["sqlite", "postgresql", "redis"]
    """What kind of store."""
    connection: Text | Connection
    """URL of the store, or its parts; `${VAR}` is read from the environment."""
    pooling: Pooling = Field(default_factory=Pooling)
    """How many connections are kept."""


class DataSource(Envelope):
    """A store of records."""

    kind: Literal["DataSource"]
    """A store of records."""
    spec: DataSourceSpec
    """Where records are kept."""
