"""How a process that goes on until it is told to stop is told so."""

import asyncio
import os
import signal
from collections.abc import Callable

_KILLED = 128
"""What shells add to the number of the signal that ended a process."""


def stop_on_signals(say: Callable[[], None] | None = None) -> asyncio.Event:
    """Return what the first SIGTERM or Ctrl-C sets before `say` is called; the second ends the process at once."""
    stop = asyncio.Event()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(_KILLED + number)
        stop.set()
        if say is not None:
            say()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    return stop
