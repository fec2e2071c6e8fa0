"""How often models are called by all processes on one database."""

import asyncio
import logging
from uuid import uuid4

from tuvl.durable.call_state import CallState
from tuvl.durable.shared_state import DatabaseFault
from tuvl.llm.pacing import Rate, Turn

AGAIN_S = 1.0
"""Seconds between two questions to a database that is away; no model is called meanwhile."""

_log = logging.getLogger("tuvl.hosting")


class SharedPaces:
    """The places that calls take, as all processes see them."""

    def __init__(self, state: CallState) -> None:
        self._state = state

    async def take(self, rate: Rate) -> Turn:
        """Take the next place."""
        call = uuid4().hex
        while True:
            try:
                wait_s = await asyncio.to_thread(self._state.take, call, rate.model, calls=rate.calls, per_s=rate.per_s)
            except DatabaseFault as error:
                _log.warning("calls of %r wait for the database: %s", rate.model, type(error).__name__)
                await asyncio.sleep(AGAIN_S)
                continue
            return Turn(id=call, wait_s=wait_s)

    async def give_back(self, rate: Rate, turn: Turn) -> None:
        """Give a place back that no call was made in."""
        try:
            await asyncio.to_thread(self._state.give_back, turn.id)
        except DatabaseFault as error:
            # It passes unused then.
            _log.warning("a call of %r was not given back: %s", rate.model, type(error).__name__)
