"""Pause, steer and abort of one run: written by the command line, a supervisor or a server, read by the engine.

Nothing here polls. A pause parks the run at its next checkpoint; an abort cancels the task that is inside
`abortable()` at once, and turns the cancellation into `Aborted` at that one place, the way `asyncio.timeout` does.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, assert_never

from tuvl.clock import Clock, SystemClock
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.racing import unless
from tuvl.values import number_text

BEAT_S, SHARE = 2.0, 0.1
"""After how many seconds, and what share of a pause, a durable run keeps again for how long it has been held up."""


class Aborted(StepError):
    """The run was told to stop; leaves on the reserved signal `aborted`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, type="aborted", signal="aborted")


class Steered(Exception):
    """A steer interrupted the model call in flight; the message waits at the next checkpoint."""


ControlAction: TypeAlias = Literal["pause", "resume", "steer", "abort"]
ControlSource: TypeAlias = Literal["rule", "judge", "operator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """What somebody did to a run from outside of its own course, for events, trace and audit."""

    action: ControlAction
    source: ControlSource
    by: str
    """Which rule, which judge, or which person."""
    reason: str = ""
    """Why, in names and counts; never a value of the run."""
    step_id: str | None = None
    """Place of the agent it is about; `None` for the run as a whole."""
    iteration: int | None = None


class RunControl:
    """The control channel of one run. `pause`, `resume`, `steer` and `abort` may be called from its event loop."""

    def __init__(self, *, pause_max_s: float = 300.0, clock: Clock | None = None) -> None:
        self._pause_max_s = pause_max_s
        self._clock = clock or SystemClock()
        self._parked_at: float | None = None
        """Since when the run is held up, had this process had it all the time; `None` while it is not."""
        self._held_s = 0.0
        """For how long it was held up, as far as that is on record."""
        self._keep_held: Callable[[float], Awaitable[None]] | None = None
        self._parking: Callable[[], None] | None = None
        self._running = asyncio.Event()
        self._running.set()
        self._freed = asyncio.Event()
        """Set while a run need not wait where it is parked: it is not paused, or leaves."""
        self._freed.set()
        self._leaving = False
        self._steers: list[str] = []
        self._scopes: dict[asyncio.Task[object], int] = {}
        self._cleanup: RunControl | None = None
        self._interruptible: dict[asyncio.Task[object], bool] = {}
        """Tasks that a steer may cancel, and whether one has."""
        self.abort_reason: str | None = None
        self.listener: Callable[[Intervention], None] | None = None
        """Hears of each intervention that changes something, as it happens; the engine's, while the run goes on."""
        self.keep: Callable[[str, Intervention, str], Awaitable[bool]] | None = None
        """Records what a durable run is told by somebody, with its id and its words, before that is carried out.

        It returns `False` for what is on record already: a process before this one has been told it.
        """
        self.leave: Callable[[], Awaitable[None]] | None = None
        """Takes a durable run out of this process between two entries of its record, by raising."""
        self.abort_signal = threading.Event()
        """Set on abort; a synchronous node in a thread may look at it (`ctx.abort`)."""

    @property
    def aborted(self) -> bool:
        """Whether the run has been told to stop."""
        return self.abort_reason is not None

    @property
    def paused(self) -> bool:
        """Whether the run is parked, or will be at its next checkpoint."""
        return not self._running.is_set()

    @property
    def pause_left_s(self) -> float:
        """Seconds for which a pause may hold the run up that begins now, or that held it up in other processes."""
        return max(0.0, self._pause_max_s - self._held_s)

    def pause(self) -> None:
        """Park the run at its next checkpoint; one that stays paused too long is aborted."""
        if not self.aborted:
            self._running.clear()
            if not self._leaving:
                self._freed.clear()

    def resume(self) -> None:
        """Let a paused run go on."""
        self._parked_at, self._held_s = None, 0.0
        self._running.set()
        self._freed.set()

    def hold_from(
        self, seconds: float, *, keep: Callable[[float], Awaitable[None]], parking: Callable[[], None]
    ) -> None:
        """Go on with a pause that has held the run up for some seconds in other processes.

        `keep` records for how many it has been in all, for those that have it later; `parking` hears when one begins to
        hold the run up here.
        """
        self._held_s, self._keep_held, self._parking = seconds, keep, parking

    def let_go(self) -> None:
        """Have a run that is paused leave this process, if it can; it is paused where it goes on, too."""
        if self.leave is not None:
            self._leaving = True
            self._freed.set()

    def steer(self, message: str) -> None:
        """Queue guidance for the model; it is delivered once, in order, before the next model call.

        A call that is `interruptible` is cancelled for it, once, however many messages come.
        """
        self._steers.append(message)
        current = asyncio.current_task()
        for task, interrupted in self._interruptible.items():
            # A run that steers itself is not waiting for anything; the message comes at its next checkpoint.
            if not interrupted and task is not current:
                self._interruptible[task] = True
                task.cancel()
                break

    def abort(self, reason: str = "aborted by request") -> None:
        """Stop the run: cancel the model call or tools in flight. Said twice, the first reason stands.

        A second abort also stops the steps that are routed from `aborted`.
        """
        if self.aborted:
            if self._cleanup is not None:
                self._cleanup.abort(reason)
            return
        self.abort_reason = reason
        self.abort_signal.set()
        self._running.set()
        self._freed.set()
        current = asyncio.current_task()
        for task in self._scopes:
            # A run that aborts itself is not waiting for anything; it meets `raise_if_aborted` next.
            if task is not current:
                task.cancel()

    def intervene(self, said: Intervention, message: str = "") -> bool:
        """Do what was said, and let the listener know; returns whether it changed anything.

        `message` is what a steer says, or why an abort is; without one the reason of the intervention stands.
        """
        changes = self.paused if said.action == "resume" else not self.aborted
        if said.action == "pause":
            changes = changes and not self.paused
        if changes and self.listener is not None:
            self.listener(said)
        match said.action:
            case "pause":
                self.pause()
            case "resume":
                self.resume()
            case "steer":
                self.steer(message or said.reason)
            case "abort":
                self.abort(message or said.reason)
            case _:
                assert_never(said.action)
        return changes

    def for_cleanup(self) -> "RunControl":
        """Return the control of what runs after an abort; aborting this one again stops it."""
        if self._cleanup is None:
            self._cleanup = RunControl(pause_max_s=self._pause_max_s, clock=self._clock)
        return self._cleanup

    async def checkpoint(self) -> list[str]:
        """Park while paused, then return the queued steer messages, each once; raises `Aborted`."""
        await self.park()
        self.raise_if_aborted()
        steers, self._steers = self._steers, []
        return steers

    async def park(self) -> None:
        """Wait while the run is paused; a pause that lasts too long becomes an abort. Steers stay queued.

        Where `pause_max_s` is 0, nobody resumes anything, and a pause is an abort. A run that is let go of leaves.
        """
        if self.paused and self._pause_max_s <= 0:
            self.abort("paused, and nobody here could resume it")
        if self.paused:
            await self._held_up()
        if self.paused and self._leaving and self.leave is not None:
            await self._held_for(self._lasts())
            await self.leave()

    async def _held_up(self) -> None:
        if self._parked_at is None:
            self._parked_at = self._clock.monotonic() - self._held_s
            if self._parking is not None:
                self._parking()
        while not self._freed.is_set():
            lasts = self._lasts()
            if lasts >= self._pause_max_s:
                self.abort(f"paused for more than {number_text(self._pause_max_s)} s")
                return
            due = self._held_s + max(BEAT_S, SHARE * self._held_s)
            if lasts >= due:
                await self._held_for(lasts)
            else:
                await unless(self._clock.sleep(min(due, self._pause_max_s) - lasts), self._freed.wait())

    def _lasts(self) -> float:
        """Return for how many seconds the run is held up, in whatever process."""
        return self._held_s if self._parked_at is None else self._clock.monotonic() - self._parked_at

    async def _held_for(self, seconds: float) -> None:
        if seconds > self._held_s:
            self._held_s = seconds  # first, so that of all that are parked one keeps it
            if self._keep_held is not None:
                await self._keep_held(seconds)

    def raise_if_aborted(self) -> None:
        """Raise `Aborted` when the run has been told to stop."""
        if self.abort_reason is not None:
            raise Aborted(self.abort_reason)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a steer cancel the current task inside this block, and leave the block as `Steered`.

        A message that came just before counts too. An abort or any other cancellation wins over a steer.
        """
        if self._steers:
            raise Steered
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("interruptible() needs a running task")
        self._interruptible[task] = False
        try:
            yield
        except asyncio.CancelledError:
            if self._interruptible[task] and task.uncancel() <= 0:
                raise Steered from None
            raise
        finally:
            del self._interruptible[task]

    @contextmanager
    def abortable(self) -> Iterator[None]:
        """Let an abort cancel the current task inside this block, and leave the block as `Aborted`.

        Any other cancellation passes through untouched.
        """
        self.raise_if_aborted()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("abortable() needs a running task")
        self._scopes[task] = self._scopes.get(task, 0) + 1
        try:
            yield
        except asyncio.CancelledError:
            # `uncancel` gives the number of cancellations that are not ours; with any left, they win.
            if self.abort_reason is not None and task.uncancel() <= 0:
                raise Aborted(self.abort_reason) from None
            raise
        finally:
            self._scopes[task] -= 1
            if not self._scopes[task]:
                del self._scopes[task]
