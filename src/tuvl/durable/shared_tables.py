"""The tables that processes share beside those of DBOS: what runs wait for, keys, definitions, orders to stop."""

from typing import Any

import sqlalchemy as sa

from tuvl.dataclass import dataclass

SCHEMA = "tuvl"
"""Schema of a PostgreSQL database that holds them, and DBOS's own tables; a SQLite file has none."""

QUEUE = "tuvl.runs"
"""Runs that any process may take."""

WAITING = "tuvl.waiting"
"""Runs that nobody takes, because they wait for a person. No process listens to this queue."""

PARKED = "tuvl.parked"
"""Runs that nobody takes, because as many of their workflow go on as may. No process listens to this queue."""

PRIVATE = "tuvl.at."
"""Beginning of the queue of runs that one process is to take; its executor id follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTables:
    """The tables, in the schema of a database."""

    metadata: sa.MetaData
    waits: sa.Table
    keys: sa.Table
    definitions: sa.Table
    uses: sa.Table
    """When a definition was of use, first and last."""
    aborts: sa.Table
    schedules: sa.Table
    """Since when a workflow has which schedule."""
    calls: sa.Table
    """Calls of models that may only be called so often, those to come among them."""
    call_clocks: sa.Table
    """What time it was when a call of a model last took its moment."""
    line: sa.Table
    """Runs of workflows of which only so many go on at once, those that go on among them."""
    seals: sa.Table
    """Which keys it takes to open what is kept of a run; none of one in plain text."""
    workflows: sa.TableClause
    """DBOS's own, of which only these columns are touched."""


def shared_tables(schema: str | None) -> SharedTables:
    """Return the tables of a schema."""
    metadata = sa.MetaData(schema=schema)
    return SharedTables(
        metadata=metadata,
        waits=_waits(metadata),
        keys=sa.Table(
            "tuvl_keys",
            metadata,
            _text("key", primary_key=True),
            _text("run_id", nullable=False),
        ),
        definitions=sa.Table(
            "tuvl_definitions",
            metadata,
            _text("digest", primary_key=True),
            _text("path", primary_key=True),
            sa.Column("data", sa.LargeBinary, nullable=False),
        ),
        uses=sa.Table(
            "tuvl_definition_uses",
            metadata,
            _text("digest", primary_key=True),
            sa.Column("first", sa.Double, nullable=False),
            sa.Column("last", sa.Double, nullable=False),
        ),
        aborts=sa.Table(
            "tuvl_aborts",
            metadata,
            _text("run_id", primary_key=True),
            _text("reason", nullable=False),
            _text("asked_by", nullable=False),
            sa.Column("at", sa.Double, nullable=False),
        ),
        schedules=sa.Table(
            "tuvl_schedules",
            metadata,
            _text("workflow", primary_key=True),
            _text("schedule", primary_key=True),
            sa.Column("since", sa.Double, nullable=False),
        ),
        calls=sa.Table(
            "tuvl_calls",
            metadata,
            _text("id", primary_key=True),
            _text("model", nullable=False),
            sa.Column("at", sa.Double, nullable=False),
            sa.Index("tuvl_calls_of_model", "model", "at"),
        ),
        call_clocks=sa.Table(
            "tuvl_call_clocks",
            metadata,
            _text("model", primary_key=True),
            sa.Column("seen", sa.Double, nullable=False),
        ),
        line=sa.Table(
            "tuvl_line",
            metadata,
            _text("run_id", primary_key=True),
            _text("workflow", nullable=False, index=True),
            sa.Column("most", sa.Integer, nullable=False),
            _text("owner"),
        ),
        seals=sa.Table(
            "tuvl_seals",
            metadata,
            _text("run_id", primary_key=True),
            _text("mark", primary_key=True),
        ),
        workflows=sa.table(
            "workflow_status",
            *(sa.column(name) for name in _OF_WORKFLOWS),
            schema=schema,
        ),
    )


_OF_WORKFLOWS = (
    "workflow_uuid",
    "status",
    "executor_id",
    "owner_xid",
    "queue_name",
    "created_at",
    "application_version",
    "started_at_epoch_ms",
    "updated_at",
)


def _waits(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "tuvl_waits",
        metadata,
        _text("run_id", primary_key=True),
        _text("name", primary_key=True),
        _text("digest", primary_key=True),
        _text("workflow", nullable=False),
        _text("kind", nullable=False),
        _text("step", nullable=False),
        _text("message", nullable=False),
        _text("tenant"),
        sa.Column("asked", sa.JSON, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("deadline", sa.Double, index=True),
        _text("answered_by"),
        sa.Column("answered_at", sa.Double, index=True),
        sa.Column("answer", sa.JSON(none_as_null=True)),
    )


def _text(name: str, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, **options)
