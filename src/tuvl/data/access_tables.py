"""Tables of the store of runs for the server: API tokens, keys under which runs were started, sessions that are over.

Like those of control they refer to no other, so that a store without them simply gets them.
"""

from sqlalchemy import Column, Connection, MetaData, String, Table

from tuvl.data.tables import NAMES, UtcMoment, json_type

access_metadata = MetaData(naming_convention=NAMES)

tokens = Table(
    "tuvl_tokens",
    access_metadata,
    Column("id", String, primary_key=True),
    Column("label", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("tenant", String),
    Column("groups", json_type(), nullable=False),
    Column("scopes", json_type(), nullable=False),
    Column("created_at", UtcMoment, nullable=False),
    Column("expires_at", UtcMoment),
    Column("revoked_at", UtcMoment),
    Column("used_at", UtcMoment),
)
"""API tokens; what a token itself says is not here."""

start_keys = Table(
    "tuvl_start_keys",
    access_metadata,
    # A digest of who said it and of what was said.
    Column("key", String, primary_key=True),
    Column("body", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("at", UtcMoment, nullable=False, index=True),
)
"""Keys under which runs were started, each once."""

ended_sessions = Table(
    "tuvl_ended_sessions",
    access_metadata,
    Column("id", String, primary_key=True),
    # After this the cookie of the session opens nothing by itself.
    Column("until", UtcMoment, nullable=False, index=True),
)
"""Sessions of browsers that were ended before their time."""


def prepare_access(connection: Connection) -> None:
    """Make the tables that are not there."""
    access_metadata.create_all(connection)
