"""A run that leaves its process before it is over: it stops between two entries, and goes on elsewhere from there."""

import asyncio
from collections.abc import Callable, Mapping

from tuvl.clock import Clock
from tuvl.durable.record import Answer, DurableJournal, Rows
from tuvl.journal import Effect, Left, Work
from tuvl.values import JsonValue


class LeavingJournal(DurableJournal):
    """A record after any entry of which the run may leave: nothing new is begun, and no effect is cut off."""

    def __init__(
        self,
        rows: Rows,
        found: Mapping[str, JsonValue],
        *,
        leaving: Callable[[], bool],
        answers: tuple[Answer, ...] = (),
        clock: Clock | None = None,
        earlier: bool = True,
    ) -> None:
        super().__init__(rows, found, clock=clock, answers=answers, again=True, earlier=earlier)
        self._leaving = leaving
        self._effects = _Effects()

    def within(self, name: str) -> "LeavingJournal":
        """Return a part of the record."""
        part = object.__new__(LeavingJournal)
        self._share(part, name)
        part._leaving, part._effects = self._leaving, self._effects
        return part

    async def record(
        self, name: str, work: Work, *, effect: Effect | None = None, asked: str | None = None
    ) -> JsonValue:
        """Return the recorded outcome, or do the work and record it; raises `Left` where the process lets go."""
        if self.known(name) is None and self._leaving():
            await self.leave()
        return await super().record(name, work, effect=effect, asked=asked)

    async def _anew(
        self, full: str, work: Work, effect: Effect | None, asked: str | None, *, stopped: bool
    ) -> JsonValue:
        if effect is None or not effect.writes:
            return await super()._anew(full, work, effect, asked, stopped=stopped)
        with self._effects.one():
            return await super()._anew(full, work, effect, asked, stopped=stopped)

    async def leave(self) -> None:
        """Let go of the run, as soon as no effect is in flight; raises `Left`."""
        # What runs beside would be cut off, and nobody would know what became of an effect.
        await self._effects.none_in_flight()
        raise Left


class _Effects:
    """The effects in flight."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def one(self) -> "_Effects":
        return self

    def __enter__(self) -> None:
        self._count += 1
        self._none.clear()

    def __exit__(self, *raised: object) -> None:
        self._count -= 1
        if not self._count:
            self._none.set()

    async def none_in_flight(self) -> None:
        await self._none.wait()
