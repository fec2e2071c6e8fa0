"""When models may be called that are called only so often, by all processes together."""

import sqlalchemy as sa

from tuvl.durable.shared_state import SharedState


class CallState:
    """The calls of such models: those of the last time, and those to come, of which each has its moment."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._calls = state.tables.calls
        self._clocks = state.tables.call_clocks

    def take(self, call: str, model: str, *, calls: int, per_s: float) -> float:
        """Give a call, which has an id, the next moment that is free; returns in how many seconds it comes."""
        table = self._calls
        latest = sa.select(table.c.at).where(table.c.model == model).order_by(table.c.at.desc())

        def take(connection: sa.Connection) -> float:
            self._state.lock_name(connection, f"calls of {model}")
            now = self._state.now(connection)
            self._follow(connection, model, now)
            known = connection.execute(sa.select(table.c.at).where(table.c.id == call)).scalar()
            if known is not None:  # the connection was lost when it was kept
                return max(0.0, float(known) - now)
            connection.execute(sa.delete(table).where(table.c.model == model, table.c.at <= now - per_s))
            before = connection.execute(latest.offset(calls - 1).limit(1)).scalar()
            at = now if before is None else max(now, float(before) + per_s)
            connection.execute(self._state.insertion(table, {"id": call, "model": model, "at": at}))
            return at - now

        return self._state.in_transaction(take)

    def _follow(self, connection: sa.Connection, model: str, now: float) -> None:
        """Where the clock was set back since the last call, set the moments of all calls back with it.

        Otherwise nobody could call the model before the clock is again where it was. What went by between the last call
        and this one is unknown then, and taken for nothing: calls are rather too late than too many.
        """
        clocks, calls = self._clocks, self._calls
        seen = connection.execute(sa.select(clocks.c.seen).where(clocks.c.model == model)).scalar()
        if seen is None:
            connection.execute(self._state.insertion(clocks, {"model": model, "seen": now}))
            return
        connection.execute(sa.update(clocks).where(clocks.c.model == model).values(seen=now))
        back = float(seen) - now
        if back > 0:
            connection.execute(sa.update(calls).where(calls.c.model == model).values(at=calls.c.at - back))

    def give_back(self, call: str) -> None:
        """Let go of the moment of a call that is not made."""
        forget = sa.delete(self._calls).where(self._calls.c.id == call)
        self._state.in_transaction(lambda connection: connection.execute(forget))
