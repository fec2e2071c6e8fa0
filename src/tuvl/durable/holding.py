"""Whether somebody has a run of a PostgreSQL that many processes share, as anybody may see: by the locks that are held.

A process holds the lock of its name for as long as it lives: nobody has to wait until it was silent for a while.
"""

from collections.abc import Mapping

import sqlalchemy as sa

from tuvl.durable.postgres import lock_key, open_postgres
from tuvl.durable.shared_tables import SCHEMA

_HAVING = f"SELECT workflow_uuid, executor_id FROM {SCHEMA}.workflow_status WHERE status = 'PENDING'"
_LOCKS = (
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
    "AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def held_runs(url: sa.URL) -> Mapping[str, bool]:
    """Return for each run that a process has taken whether that process lives; nothing where that cannot be told."""
    try:
        engine = open_postgres(url)
    except ModuleNotFoundError:
        return {}
    try:
        with engine.connect() as connection:
            having = [(str(run_id), str(executor)) for run_id, executor in connection.exec_driver_sql(_HAVING)]
            held = {int(key) for (key,) in connection.exec_driver_sql(_LOCKS)}
    except sa.exc.SQLAlchemyError:
        return {}  # there are no durable runs yet, or the database is away, which whoever reads it is told elsewhere
    finally:
        engine.dispose()
    return {run_id: lock_key(SCHEMA, executor) in held for run_id, executor in having}
