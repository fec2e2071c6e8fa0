"""How a fault that ends nothing is told in the log: with a traceback where code is to blame, in a word where it is not.

A disk that is full, a connection that is lost, a database that refuses: whoever reads of it needs no line of code, and
the same fault is told in clear words where it matters.
"""

from tuvl.errors import TuvlError

_OF_THE_WORLD = frozenset({"sqlalchemy", "sqlite3", "psycopg", "asyncpg", "aiosqlite", "redis"})
"""Packages whose errors tell what databases and connections say."""


def is_of_the_world(error: BaseException) -> bool:
    """Tell whether an error comes from a file, a connection or a database, and not from a mistake in code."""
    if isinstance(error, TuvlError | OSError):
        return True
    return any(kind.__module__.partition(".")[0] in _OF_THE_WORLD for kind in type(error).__mro__)


def in_a_word(error: BaseException) -> str:
    """Name an error without saying anything that may be secret."""
    name = type(error).__name__
    why = error.strerror if isinstance(error, OSError) else None
    return f"{name}, {why.lower()}" if why else name


def traceback_of(error: BaseException) -> BaseException | None:
    """Return what the log shows the traceback of, as its `exc_info`; `None` where that would help nobody."""
    return None if is_of_the_world(error) else error
