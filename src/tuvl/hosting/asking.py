"""Asks the database of durable runs, whose answers come in a thread."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tuvl.errors import ConfigError

Given = ParamSpec("Given")
Told = TypeVar("Told")


async def asked(question: Callable[Given, Told], *args: Given.args, **named: Given.kwargs) -> Told:
    """Ask the database, in a thread; raises `ConfigError` where it does not answer."""
    from tuvl.durable.shared_state import DatabaseFault  # it imports SQLAlchemy

    try:
        return await asyncio.to_thread(question, *args, **named)
    except DatabaseFault as error:
        raise ConfigError(f"the database of durable runs does not answer: {type(error).__name__}") from error
