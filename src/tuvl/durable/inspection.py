"""Looks at the file of a record before a run is taken up from it: whole, of this version, and of a run that can go on.

DBOS leaves what it cannot take up where it is and says nothing; whoever waits for it would wait without end.
"""

import json
from pathlib import Path
from typing import cast

import sqlalchemy as sa

from tuvl.durable.entries import missing
from tuvl.durable.faults import RecordDamaged, RecordFailed
from tuvl.durable.row_table import FORM
from tuvl.durable.rows import APPLICATION_VERSION, checked
from tuvl.durable.sqlite_file import open_sqlite
from tuvl.errors import UsageError
from tuvl.values import JsonObject, JsonValue

_GOES_ON = ("PENDING", "ENQUEUED")
"""Status of a run that can go on: performed when its process was lost, or just about to be taken up by one."""


def result_in(path: Path, run_id: str) -> JsonObject | None:
    """Return the result document of a run that has ended, `None` for one that can go on.

    Raises `UsageError` for a file that holds no such run, is damaged, or was written by another version.
    """
    engine = open_sqlite(str(path))
    try:
        with engine.connect() as connection:
            return _result(connection, path, run_id)
    except RecordFailed as error:
        raise UsageError(f"run {run_id!r} cannot be read from {_shown(path)}: {error.why}") from None
    finally:
        engine.dispose()


def ended_at(path: Path, run_id: str) -> float | None:
    """Return when a run has ended, in seconds since 1970; `None` for one that can go on, or cannot be read."""
    engine = open_sqlite(str(path))
    try:
        with engine.connect() as connection:
            query = "SELECT updated_at FROM workflow_status WHERE workflow_uuid = ? AND status = 'SUCCESS'"
            ended = connection.exec_driver_sql(query, (run_id,)).scalar()
            return None if ended is None else float(ended) / 1000
    except (RecordFailed, sa.exc.SQLAlchemyError):
        return None
    finally:
        engine.dispose()


def _result(connection: sa.Connection, path: Path, run_id: str) -> JsonObject | None:
    (fault,) = connection.exec_driver_sql("PRAGMA quick_check(1)").one()
    if fault != "ok":
        raise _damaged(path, run_id, "its file is damaged")
    tables = {str(name) for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
    kept = {"workflow_status", "workflow_input", "operation_outputs"} <= tables
    query = "SELECT status, application_version FROM workflow_status WHERE workflow_uuid = ?"
    row = connection.exec_driver_sql(query, (run_id,)).one_or_none() if kept else None
    if row is None:
        raise UsageError(
            f"{_shown(path)} holds nothing of run {run_id!r}: its process was lost before the run had begun, or the "
            "file was emptied; start it anew"
        )
    status, version = row
    if version != APPLICATION_VERSION:
        raise UsageError(
            f"run {run_id!r} was written down in the form {version!r}, and this tuvl knows {APPLICATION_VERSION!r}; "
            "resume it with the tuvl that began it"
        )
    if status == "SUCCESS":
        ended = _json(connection, "workflow_output", "output", run_id)
        result = ended.get("result") if isinstance(ended, dict) else None
        if not isinstance(result, dict) or not {"status", "sealed"} & result.keys():
            raise _damaged(path, run_id, "its result cannot be read")
        return result
    if status not in _GOES_ON:
        raise _damaged(path, run_id, f"it is marked as {status!r}")
    given = _json(connection, "workflow_input", "inputs", run_id)
    arguments = given.get("positionalArgs") if isinstance(given, dict) else None
    if not isinstance(arguments, list) or len(arguments) != 1 or not isinstance(arguments[0], dict):
        raise _damaged(path, run_id, "what it was started with cannot be read")
    _check_rows(connection, path, run_id)
    return None


def _check_rows(connection: sa.Connection, path: Path, run_id: str) -> None:
    query = (
        "SELECT function_name, output, serialization, function_id FROM operation_outputs WHERE workflow_uuid = ? "
        "ORDER BY function_id"
    )
    rows = connection.exec_driver_sql(query, (run_id,)).all()
    gap = missing(max((int(number) for _, _, _, number in rows), default=0), len(rows))
    if gap is not None:
        raise _damaged(path, run_id, gap)
    try:
        # Of a row in any other writing nothing is read: it may be code.
        checked({str(name): _parsed(text) if form == FORM else None for name, text, form, _ in rows})
    except RecordDamaged as error:
        raise UsageError(str(error) if error.foreign else _damaged(path, run_id, error.why)) from None


def _json(connection: sa.Connection, table: str, column: str, run_id: str) -> JsonValue:
    query = f"SELECT {column} FROM {table} WHERE workflow_uuid = ?"
    return _parsed(connection.exec_driver_sql(query, (run_id,)).scalar())


def _parsed(text: object) -> JsonValue:
    try:
        return cast(JsonValue, json.loads(text)) if isinstance(text, str) else None
    except ValueError:
        return None


def _damaged(path: Path, run_id: str, what: str) -> UsageError:
    return UsageError(
        f"run {run_id!r} cannot be read from {_shown(path)}: {what}; "
        "restore the file from a backup, or start the run anew"
    )


def _shown(path: Path) -> str:
    return repr("/".join(path.parts[-3:]))
