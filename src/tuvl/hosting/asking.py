"""Asks the database of durable runs, whose answers come in a thread."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tuvl.data.patience import in_time
from tuvl.errors import ConfigError, UsageError

Given = ParamSpec("Given")
Told = TypeVar("Told")


class DatabaseAway(ConfigError):
    """The database of durable runs does not answer just now; whoever has a run there waits until it does."""


async def asked(question: Callable[Given, Told], *args: Given.args, **named: Given.kwargs) -> Told:
    """Ask the database, in a thread; raises `DatabaseAway` where it does not answer, `UsageError` for a value.

    A question that a request has waited for too long goes on in its thread: what it asks for may still be done.
    """
    from tuvl.data.faults import is_of_value  # they import SQLAlchemy
    from tuvl.durable.faults import RecordFailed
    from tuvl.durable.shared_state import DatabaseFault

    try:
        async with in_time():
            return await asyncio.to_thread(question, *args, **named)
    except TimeoutError as error:
        raise DatabaseAway("the database of durable runs does not answer") from error
    except DatabaseFault as error:
        if is_of_value(error):
            raise UsageError("the database of durable runs cannot keep a value of what is asked") from error
        why = error.why if isinstance(error, RecordFailed) else type(error).__name__
        raise DatabaseAway(f"the database of durable runs does not answer: {why}") from error
