"""A connection that could not be opened → a `StepError` that names the database, what is wrong, and what to change."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy.engine import URL

from tuvl.data.fault_types import BUSY, UNREACHABLE
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.values import shorten

_REFUSALS = {
    "28000": "it refused the user name or the password",
    "28P01": "it refused the user name or the password",
    "3D000": "it has no database of that name",
    "53300": "it takes no more connections",
    "57P03": "it is starting up or shutting down",
}
"""What PostgreSQL says by the code of its error; its own texts may quote what it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A database as people know it."""

    what: str
    """What it is, such as `data source 'shop'`."""
    elsewhere: str
    """How to have it somewhere else, such as `change TUVL_DATABASE_URL`."""


def unreachable(error: Exception, url: URL, reached: Reached) -> StepError:
    """Return the step error for a connection that could not be opened; it shows no password and no library's text."""
    if isinstance(error, sqlite3.Error):
        return _sqlite(error, Path(url.database or ""), reached)
    host = url.host or url.query.get("host") or "localhost"
    server = f"PostgreSQL at {host if isinstance(host, str) else ', '.join(host)}:{url.port or 5432}"
    where = f"{reached.what}: {server}, database {url.database or url.username or ''!r}"
    advice = f"see that it runs, or {reached.elsewhere}"
    return StepError(f"{where}, cannot be reached: {_why(error)}; {advice}", type=UNREACHABLE)


def _sqlite(error: sqlite3.Error, file: Path, reached: Reached) -> StepError:
    where = f"{reached.what}: the SQLite file {str(file)!r}"
    if "locked" in str(error) or "busy" in str(error):
        return StepError(f"{where} was held by another transaction for too long", type=BUSY)
    why, advice = _file_fault(error, file)
    return StepError(f"{where} cannot be opened: {why}; {advice}, or {reached.elsewhere}", type=UNREACHABLE)


def _file_fault(error: sqlite3.Error, file: Path) -> tuple[str, str]:
    """Say what is wrong with a file that SQLite cannot open, and what to do about it."""
    if file.is_dir():
        return "it is a folder", "remove or rename it"
    if not file.parent.is_dir():
        return f"there is no folder {str(file.parent)!r}", "make it"
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        return "it may not be read and written", "change its rights"
    if not file.exists() and not os.access(file.parent, os.W_OK):
        return f"nothing can be written to its folder {str(file.parent)!r}", "change its rights"
    if type(error) is sqlite3.DatabaseError:
        return "it is no SQLite database, or it is damaged", "restore it from a backup, remove it"
    return f"SQLite says no ({getattr(error, 'sqlite_errorname', type(error).__name__)})", "see that the disk is sound"


def _why(error: Exception) -> str:
    cause = error.__cause__ if error.__cause__ is not None else error
    state = getattr(cause, "sqlstate", None)
    if isinstance(state, str):
        return _REFUSALS.get(state, f"it answered with error {shorten(state, 20)}")
    if isinstance(cause, TimeoutError):
        return "it does not answer"
    if isinstance(cause, OSError):
        # A name that is not known has a negative number, and several addresses that failed have none.
        number = cause.errno or 0
        return os.strerror(number).lower() if number > 0 else (cause.strerror or "nothing answers there").lower()
    return type(cause).__name__
