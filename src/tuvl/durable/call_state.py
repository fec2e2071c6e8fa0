"""When models may be called that are called only so often, by all processes together."""

import sqlalchemy as sa

from tuvl.durable.shared_state import SharedState


class CallState:
    """The calls of such models: those of the last time, and those to come, of which each has its moment."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._calls = state.tables.calls

    def take(self, call: str, model: str, *, calls: int, per_s: float) -> float:
        """Give a call, which has an id, the next moment that is free; returns in how many seconds it comes."""
        table = self._calls
        latest = sa.select(table.c.at).where(table.c.model == model).order_by(table.c.at.desc())

        def take(connection: sa.Connection) -> float:
            self._state.lock_name(connection, f"calls of {model}")
            now = self._state.now(connection)
            known = connection.execute(sa.select(table.c.at).where(table.c.id == call)).scalar()
            if known is not None:  # the connection was lost when it was kept
                return max(0.0, float(known) - now)
            connection.execute(sa.delete(table).where(table.c.model == model, table.c.at <= now - per_s))
            before = connection.execute(latest.offset(calls - 1).limit(1)).scalar()
            at = now if before is None else max(now, float(before) + per_s)
            connection.execute(self._state.insertion(table, {"id": call, "model": model, "at": at}))
            return at - now

        return self._state.in_transaction(take)

    def give_back(self, call: str) -> None:
        """Let go of the moment of a call that is not made."""
        forget = sa.delete(self._calls).where(self._calls.c.id == call)
        self._state.in_transaction(lambda connection: connection.execute(forget))
