"""The transaction around one step or tool call: committed when it leaves on anything but `error`."""

from typing import Protocol


class Transaction(Protocol):
    """What one step wrote to stores outside the context. Exactly one of the two is awaited."""

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


class NoTransaction:
    """Nothing was written outside the context, so there is nothing to keep or to undo."""

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
