"""The end of the process: it comes, whatever the code of a project still does."""

import os
import sys
import threading

from tuvl.leftovers import any_left

LAST_MOMENT_S = 5.0
"""How long threads may keep a process whose work is done, in seconds."""


def end_with(code: int) -> None:
    """See to it that the process ends with this code, now or soon; there is nothing left to do in it.

    The interpreter waits without a bound for threads that are no daemons, and for every thread of a pool. Tasks that
    were left behind it destroys, by throwing into them what they have ignored before: that, too, may take for ever.
    """
    if any_left():
        _end(code)
    watch = threading.Timer(LAST_MOMENT_S, _end, (code,))
    watch.daemon = True
    watch.start()


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # its reader has gone away, or somebody has closed it
    os._exit(code)
