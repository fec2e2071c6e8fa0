"""The transaction around one step or tool call: committed when it leaves on anything but `error`."""

from typing import Protocol

from tuvl.data.model import SourcePlan
from tuvl.data.sessions import StepData


class Transaction(Protocol):
    """What one step wrote to stores outside the context. `rollback` may follow a `commit` that failed."""

    @property
    def data(self) -> StepData | None:
        """The database sessions of the step; `None` when the run has no databases."""
        ...

    async def commit(self) -> None:
        """Keep it."""
        ...

    async def rollback(self) -> None:
        """Undo it."""
        ...


class Transactions(Protocol):
    """Opens the transaction of each step."""

    async def begin(self, step_id: str) -> Transaction:
        """Open one."""
        ...

    async def can_mark(self, source: SourcePlan) -> bool:
        """Tell whether a transaction there can hold a mark, by which its write is known to have taken place."""
        ...


class NoTransaction:
    """Nothing was written outside the context, so there is nothing to keep or to undo."""

    data = None

    async def commit(self) -> None:
        """Do nothing."""

    async def rollback(self) -> None:
        """Do nothing."""


class NoTransactions:
    """For runs without a database."""

    _one = NoTransaction()

    async def begin(self, step_id: str) -> Transaction:
        """Return a transaction that does nothing."""
        return self._one

    async def can_mark(self, source: SourcePlan) -> bool:
        """Say no: nothing is written."""
        return False
