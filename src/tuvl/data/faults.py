"""What a database raises → a `StepError` that names columns and constraints, never a value."""

import re

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tuvl.errors import StepError
from tuvl.values import JsonObject

BROKEN = "database_broken"
"""Error type of a session whose connection was lost: whether its last statement had an effect is unknown."""

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
            return StepError(f"{what}: no connection became free in time", type="database_busy")
        case OperationalError() if "locked" in str(error.orig) or "busy" in str(error.orig):
            return StepError(f"{what}: another transaction held the database for too long", type="database_busy")
        case OperationalError() | InterfaceError() | OSError():
            return StepError(
                f"{what}: the database cannot be reached or opened ({_name(error)})", type="database_unreachable"
            )
        case DBAPIError():
            return StepError(f"{what}: the database refused the statement ({_name(error)})", type="database_error")
        case SQLAlchemyError():
            return StepError(f"{what}: {type(error).__name__}", type="database_error")
        case _:
            return StepError(f"{what}: {type(error).__name__}", type="database_error")


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
    return type(cause).__name__
