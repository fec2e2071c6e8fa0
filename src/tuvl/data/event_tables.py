"""The table of the events of durable runs: pieces of the stream of each run, as many in a row as came together."""

from sqlalchemy import Column, Connection, ForeignKey, Integer, MetaData, String, Table, Text

from tuvl.data.run_tables import runs
from tuvl.data.tables import NAMES

event_metadata = MetaData(naming_convention=NAMES)

run_events = Table(
    "tuvl_run_events",
    event_metadata,
    Column("run_id", String, ForeignKey(runs.c.run_id, ondelete="CASCADE"), primary_key=True),
    # Numbers of the first and the last event of the piece: those of a run go on over all processes that had it.
    Column("first_seq", Integer, primary_key=True, autoincrement=False),
    Column("last_seq", Integer, nullable=False),
    # A JSON list of events in their one written form. No part of it is ever asked for alone.
    Column("events", Text, nullable=False),
)


def prepare_events(connection: Connection) -> None:
    """Make the table if it is not there."""
    event_metadata.create_all(connection)
