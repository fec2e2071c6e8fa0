"""Tables of the store of runs by which runs that go on are seen and controlled from other processes.

They came later than the others and refer to none of them, so that a store without them simply gets them.
"""

from sqlalchemy import Boolean, Column, Connection, Double, Integer, MetaData, String, Table, Text

from tuvl.data.tables import NAMES, UtcMoment, numbered

control_metadata = MetaData(naming_convention=NAMES)


interventions = Table(
    "tuvl_interventions",
    control_metadata,
    numbered(),
    Column("id", String, nullable=False, unique=True),
    Column("run_id", String, nullable=False, index=True),
    Column("at", UtcMoment, nullable=False),
    Column("action", String, nullable=False),
    Column("source", String, nullable=False),
    Column("by", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("step_id", String),
    Column("iteration", Integer),
)
"""What was done to runs, and by whom."""

live_runs = Table(
    "tuvl_live_runs",
    control_metadata,
    Column("run_id", String, primary_key=True),
    Column("workflow", String, nullable=False),
    Column("schema_version", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("tenant", String),
    Column("started_at", UtcMoment, nullable=False),
    Column("owner", String, nullable=False, index=True),
    Column("paused", Boolean, nullable=False),
    # Seconds since 1970 by the clock of the database's server, so that the clocks of machines need not agree.
    Column("beat_at", Double, nullable=False),
)
"""Runs that go on, each with the process it is in, and when that process was last heard of."""

passing_runs = Table(
    "tuvl_passing_runs",
    control_metadata,
    Column("run_id", String, primary_key=True),
    # As `beat_at` above.
    Column("at", Double, nullable=False),
)
"""Runs that last no longer than their process, and when they began; those that have ended are taken off."""

directives = Table(
    "tuvl_directives",
    control_metadata,
    numbered(),
    Column("id", String, nullable=False, unique=True),
    Column("run_id", String, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("message", Text, nullable=False),
    Column("by", String, nullable=False),
    Column("at", UtcMoment, nullable=False),
    # `applied` or `void`; empty while the process that has the run has not read it.
    Column("outcome", String),
    Column("note", String),
    Column("settled_at", UtcMoment),
)
"""What runs were told from outside, in order."""


def prepare_control(connection: Connection) -> None:
    """Make the tables that are not there."""
    control_metadata.create_all(connection)
