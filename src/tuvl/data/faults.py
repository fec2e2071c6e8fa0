"""What a database raises → a `StepError` that names columns and constraints, never a value."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tuvl.data.fault_types import BROKEN, BUSY, UNREACHABLE
from tuvl.data.patience import in_time
from tuvl.errors import StepError
from tuvl.values import JsonObject

UNKEEPABLE = "value"
"""What `fault` in the detail of an error says where the value is at fault: no database that is back takes it."""

_OF_VALUES = ("22", "54")
"""Classes of the codes of PostgreSQL: of values that are none of the kind they should be, or larger than any may be."""

_FILE_FAULTS = {
    "SQLITE_FULL": "the database cannot be written: the disk is full",
    "SQLITE_READONLY": "the database cannot be written: its file or its folder is read-only",
    "SQLITE_CANTOPEN": "the database cannot be opened",
    "SQLITE_IOERR": "the database cannot be read or written: the disk reports an error",
    "SQLITE_CORRUPT": "the database is damaged; restore it from a backup",
    "SQLITE_NOTADB": "the file is no SQLite database",
}
_SQLITE_CONSTRAINT = re.compile(r"(UNIQUE|NOT NULL|CHECK|FOREIGN KEY) constraint failed(?:: ([\w., ]+))?")
_KINDS = {
    "UNIQUE": "unique",
    "NOT NULL": "required",
    "CHECK": "check",
    "FOREIGN KEY": "foreign_key",
    "23505": "unique",
    "23502": "required",
    "23514": "check",
    "23503": "foreign_key",
}
_WORDS = {
    "unique": "another record has that value already",
    "required": "a value is missing",
    "check": "the value is none of those allowed",
    "foreign_key": "a record refers to one that is not there, or another record still refers to this one",
}


@asynccontextmanager
async def answered_in_time(what: str) -> AsyncIterator[None]:
    """Talk to a database; raises the step error for whatever it raises, and where a request waits for it too long."""
    try:
        async with in_time():
            yield
    except (SQLAlchemyError, OSError) as error:
        raise step_error(error, what=what) from error


def step_error(error: Exception, *, what: str) -> StepError:
    """Return the step error for whatever talking to a database raised; `what` names the model or the source."""
    match error:
        case StepError():
            return error
        case IntegrityError():
            return _constraint(error, what)
        case DBAPIError() if error.connection_invalidated:
            return StepError(
                f"{what}: the connection to the database was lost; whether the last statement had an effect is unknown",
                type=BROKEN,
            )
        case PoolTimeoutError():
            return StepError(f"{what}: no connection became free in time", type=BUSY)
        case OperationalError() if "locked" in str(error.orig) or "busy" in str(error.orig):
            return StepError(f"{what}: another transaction held the database for too long", type=BUSY)
        case DBAPIError() if (broken := _broken_file(error)) is not None:
            return StepError(f"{what}: {broken}", type=UNREACHABLE)
        case _ if is_of_value(error):
            words = f"{what}: a value cannot be kept as it is ({_name(error)})"
            return StepError(words, type="database_error", detail={"fault": UNKEEPABLE})
        case OperationalError() | InterfaceError() if not isinstance(error.orig, sqlite3.Error):
            return StepError(f"{what}: the database cannot be reached ({_name(error)})", type=UNREACHABLE)
        case OSError():
            return StepError(f"{what}: the database cannot be reached ({_name(error)})", type=UNREACHABLE)
        case DBAPIError():
            return StepError(f"{what}: the database refused the statement ({_name(error)})", type="database_error")
        case _:
            return StepError(f"{what}: the statement could not be carried out ({_name(error)})", type="database_error")


def is_of_value(error: BaseException) -> bool:
    """Tell whether a statement failed for a value in it: what a database says again, whenever it is asked."""
    match error:
        case StepError():
            return error.detail.get("fault") == UNKEEPABLE
        case UnicodeEncodeError():
            return True
        case DBAPIError():
            return isinstance(error, DataError) or (error.orig is not None and is_of_value(error.orig))
        case _:
            state = getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None)
            return str(state or "").startswith(_OF_VALUES) or type(error).__name__ == "DataError"


def _broken_file(error: DBAPIError) -> str | None:
    """Say what is wrong with the file of a SQLite database; `None` when that is not what failed."""
    code = getattr(error.orig, "sqlite_errorname", "")
    return next((words for name, words in _FILE_FAULTS.items() if code.startswith(name)), None)


def _constraint(error: IntegrityError, what: str) -> StepError:
    kind, name = _kind_and_name(error)
    detail: JsonObject = {"constraint": kind}
    if name:
        detail["name"] = name
    place = f" ({name})" if name else ""
    return StepError(f"{what}: {_WORDS.get(kind, 'a constraint is not kept')}{place}", type="constraint", detail=detail)


def _kind_and_name(error: IntegrityError) -> tuple[str, str | None]:
    found = _SQLITE_CONSTRAINT.search(str(error.orig))
    if found is not None:
        return _KINDS[found[1]], found[2]
    cause = error.orig.__cause__ if error.orig is not None else None
    state = str(getattr(cause, "sqlstate", ""))
    # The message and detail of PostgreSQL quote the value; names are safe.
    name = getattr(cause, "constraint_name", None) or getattr(cause, "column_name", None)
    return _KINDS.get(state, "constraint"), str(name) if name else None


def _name(error: Exception) -> str:
    origin = error.orig if isinstance(error, DBAPIError) else None
    if origin is None:
        return type(error).__name__
    cause = origin.__cause__ or origin
    return str(getattr(cause, "sqlite_errorname", "") or type(cause).__name__)
