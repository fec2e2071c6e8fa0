"""What processes know together of schedules: what time it is, and since when a workflow has which schedule."""

from collections.abc import Sequence

import sqlalchemy as sa

from tuvl.durable.shared_state import SharedState


class ScheduleState:
    """The schedules of all workflows on one database."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._schedules = state.tables.schedules

    def now(self) -> float:
        """Return the time of day by the database's clock, in seconds since 1970."""
        return self._state.in_transaction(self._state.now)

    def since(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """Return since when each workflow has its schedule: from now on, where it was not known before."""
        table = self._schedules

        def look(connection: sa.Connection) -> dict[tuple[str, str], float]:
            now, found = self._state.now(connection), {}
            for workflow, schedule in keys:
                values = {"workflow": workflow, "schedule": schedule, "since": now}
                connection.execute(self._state.insertion(table, values))
                where = (table.c.workflow == workflow, table.c.schedule == schedule)
                found[workflow, schedule] = float(
                    connection.execute(sa.select(table.c.since).where(*where)).scalar_one()
                )
            return found

        return self._state.in_transaction(look)
