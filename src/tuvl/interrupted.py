"""Ctrl-C while the command line is still being imported: the process ends as it does later, without a traceback."""

import os
import signal
import sys
import threading

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it."""


_SCRIPTS = frozenset({"tuvl", "tuvl.exe", "tuvl-script.py", "tuvl-script.pyw"})
"""What installers call the script that starts the command."""

_ISOLATION = ("-I", "-P")
"""Options of Python that keep it from importing what lies in the folder it is started in."""


def quiet_until_main() -> None:
    """Let Ctrl-C end the process at once, if it is the command's own, until `stop_quietly_no_more` is called.

    The script that starts the command has nothing that would catch the interrupt. A process that imports tuvl for
    itself keeps its own ways, and one that was told to ignore Ctrl-C goes on ignoring it.
    """
    if _is_ours() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def stop_quietly_no_more() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def hush_late_threads() -> None:
    """Let threads say nothing that come with a result to an event loop which an interrupt has closed meanwhile."""
    said = threading.excepthook

    def hush(raised: threading.ExceptHookArgs) -> None:
        if not (isinstance(raised.exc_value, RuntimeError) and str(raised.exc_value) == "Event loop is closed"):
            said(raised)

    threading.excepthook = hush


def _is_ours() -> bool:
    # While `python -m tuvl` imports the package, its words are not yet where they will be.
    started = os.path.basename(sys.argv[0]) if sys.argv else ""
    words = [word for word in sys.orig_argv[1:] if word not in _ISOLATION]
    return started in _SCRIPTS or words[:2] == ["-m", "tuvl"]


def _end(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)
