"""One run from the command line: its event loop, its view, and what Ctrl-C and SIGTERM do to it."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from tuvl.cli.live import REPAINT_EVERY_S, View
from tuvl.control import RunControl
from tuvl.leftovers import stop_tasks

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KILLED = 128
"""What shells add to the number of the signal that ended a process."""

INTERRUPTED = _KILLED + signal.SIGINT
"""Exit code after Ctrl-C, as shells give it."""

T = TypeVar("T")


class Interrupts:
    """Ctrl-C and SIGTERM. The first asks the run to stop, so that it still gives its result; the second is hard."""

    def __init__(self, control: RunControl, view: View) -> None:
        self._control = control
        self._view = view
        self._came = False
        self.by_ctrl_c = False
        """Whether Ctrl-C has stopped the run; after SIGTERM the exit code is that of a run that was aborted."""

    @contextmanager
    def watched(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Take the signals over while the block runs."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            # A handler runs between any two instructions of the main thread: it takes no lock and prints nothing.
            if self._came:
                os._exit(_KILLED + number)
            self._came = True
            self.by_ctrl_c = number == signal.SIGINT
            loop.call_soon_threadsafe(self._stop, signal.Signals(number))

        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: signal.Signals) -> None:
        self._control.abort("interrupted by Ctrl-C" if number == signal.SIGINT else f"interrupted by {number.name}")
        self._view.say("stopping; Ctrl-C once more quits at once", mark="now")


def run_to_end(main: Coroutine[object, object, T], *, interrupts: Interrupts, view: View) -> T:
    """Run a coroutine on an event loop of its own, the view ticking beside it.

    Unlike `asyncio.run`, it waits neither for worker threads nor for tasks that do not stop: what ignores an abort must
    not hold back the result of its run.
    """
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        with interrupts.watched(loop):
            try:
                return loop.run_until_complete(_ticking(main, view))
            finally:
                stop_tasks(loop)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _ticking(main: Coroutine[object, object, T], view: View) -> T:
    ticker = asyncio.create_task(_tick(view))
    try:
        return await main
    finally:
        ticker.cancel()
        view.close()


async def _tick(view: View) -> None:
    while True:
        await asyncio.sleep(REPAINT_EVERY_S)
        view.tick()
