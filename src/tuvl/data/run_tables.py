"""The tables of the store of runs, and their version."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import CreateColumn

from tuvl.data.tables import NAMES, UtcMoment, json_type, numbered
from tuvl.errors import ConfigError

SCHEMA_VERSION = 2
"""Version of the tables below. A change of them needs a step in `prepare` that turns the one before into it."""

metadata = MetaData(naming_convention=NAMES)

version_table = Table("tuvl_store", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

runs = Table(
    "tuvl_runs",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("workflow", String, nullable=False, index=True),
    Column("schema_version", String, nullable=False),
    Column("status", String, nullable=False, index=True),
    Column("signal", String),
    Column("principal", String, nullable=False, index=True),
    Column("tenant", String, index=True),
    Column("started_at", UtcMoment, nullable=False, index=True),
    Column("finished_at", UtcMoment),
    Column("result", json_type()),
)


def _place() -> tuple[Column[Any], ...]:
    return (
        Column("run_id", String, ForeignKey("tuvl_runs.run_id"), nullable=False, index=True),
        Column("step_id", String, nullable=False),
        Column("iteration", Integer, nullable=False),
        Column("at", UtcMoment, nullable=False),
        Column("conversation", String, index=True),
    )


model_calls = Table(
    "tuvl_model_calls",
    metadata,
    numbered(),
    *_place(),
    Column("model", String, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("total_tokens", BigInteger, nullable=False),
    Column("cached_input_tokens", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("estimated", Boolean, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("audited", Boolean, nullable=False),
    Column("request_digest", String),
    Column("request_messages", Integer),
    Column("content", Text),
    Column("tool_calls", json_type()),
    Column("thinking", json_type()),
    Column("finish_reason", String),
    # The calls beside an agent's turns, and how a judge's went.
    Column("purpose", String),
    Column("artifact", String),
    Column("site", String),
    Column("verdict", String),
    Column("error_type", String),
)

tool_calls = Table(
    "tuvl_tool_calls",
    metadata,
    numbered(),
    *_place(),
    # Puts the call behind the model call that asked for it, whatever the clock says.
    Column("model_call", BigInteger),
    Column("call_id", String, nullable=False),
    Column("tool", String, nullable=False, index=True),
    Column("arguments", json_type(), nullable=False),
    Column("problem", String),
    Column("signal", String, nullable=False),
    Column("content", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("duplicate", Boolean, nullable=False),
    Column("error_type", String),
    Column("error_message", Text),
    Column("duration_ms", Double, nullable=False),
)

messages = Table(
    "tuvl_messages",
    metadata,
    numbered(),
    *_place(),
    Column("role", String, nullable=False),
    Column("content", Text),
    Column("tool_calls", json_type()),
    Column("tool_call_id", String),
    Column("name", String),
    # `open` while a streamed reply comes in, and for ever where nothing came of it; `void` once it began anew.
    Column("state", String),
)

ADDED_IN_2 = (
    *(model_calls.c[name] for name in ("purpose", "artifact", "site", "verdict", "error_type")),
    messages.c.state,
)
"""Columns that tables of version 1 lack; all of them may be empty."""


def prepare(connection: Connection) -> None:
    """Make the tables on first use, and bring older ones up to date; raises `ConfigError` for newer ones."""
    if version_table.name not in inspect(connection).get_table_names():
        metadata.create_all(connection)
        connection.execute(version_table.insert().values(version=SCHEMA_VERSION))
        return
    found = connection.execute(select(version_table.c.version)).scalar()
    if found == 1:
        for column in ADDED_IN_2:
            written = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {written}"))
        connection.execute(version_table.update().values(version=2))
        found = 2
    if found != SCHEMA_VERSION:
        raise ConfigError(
            f"the store of runs has version {found} of its tables, and this tuvl knows version {SCHEMA_VERSION};"
            " use the tuvl that made it, or another store (TUVL_DATABASE_URL)"
        )
