"""The standard streams: there whatever the shell did to them, stdout for data alone, and stderr never in the way."""

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

STDIN, STDOUT, STDERR = 0, 1, 2

PATIENCE_S = 1.0
"""How long a line for people waits for a pipe that nobody reads, in seconds; it is lost then, and the next at once."""

_CHUNK = 4096
"""What a pipe that can be written to takes in one go without blocking."""

_GONE = frozenset({errno.EPIPE, errno.EINVAL})
"""What is said of a pipe whose reader has gone away; Windows says the second."""


class _Process:
    """What is known of the streams of this process."""

    ours = False
    """Whether the whole process is this command's, and its streams need not be left as they were found."""
    data: TextIO | None = None
    """The stdout that data goes to while guests have another one."""


def take_over() -> None:
    """Make the streams safe for a process that is all ours: call it once, at its start.

    A stream that the shell closed reads as empty and swallows what is written; were its number left free, the next
    file to be opened would get it. What cannot be written to stderr is lost without an error.
    """
    _Process.ours = True
    for number in (STDIN, STDOUT, STDERR):
        _hold(number)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(STDIN, closefd=False)), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = _writer(io.FileIO(STDOUT, "w", closefd=False))
    known = sys.stderr
    sys.stderr = _writer(_Lossy(STDERR), encoding="utf-8" if known is None else known.encoding)


def _writer(raw: io.FileIO, *, encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=True)


def _hold(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        os.set_inheritable(number, True)


class _Lossy(io.FileIO):
    """Writes what can be written: no error, and no wait without a bound."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self._has_room = _room_watch(number)
        self._patience_ms = PATIENCE_S * 1000

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        rest = memoryview(data).cast("B")
        size = len(rest)
        with suppress(OSError):
            while rest and self._ready():
                written = super().write(rest[:_CHUNK])
                if written is None:
                    break  # it is full, and set not to block
                rest = rest[written:]
        return size

    def _ready(self) -> bool:
        if self._has_room is None or self._has_room(self._patience_ms):
            self._patience_ms = PATIENCE_S * 1000
            return True
        self._patience_ms = 0
        return False


def _room_watch(number: int) -> Callable[[float], object] | None:
    """Return what waits, for so many milliseconds, until a pipe has room; `None` where there is nothing to wait for."""
    mode = os.fstat(number).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    import select  # a terminal and a file need none of it

    poll = select.poll()
    poll.register(number, select.POLLOUT)
    return poll.poll


@contextmanager
def stdout_set_aside() -> Iterator[None]:
    """Keep stdout for data while guests run: what they print, and what their subprocesses write, goes to stderr.

    In a process of our own it stays so: a guest that still runs, or a library that flushes late, would write into data.
    """
    if _Process.data is not None:
        yield
        return
    before = sys.stdout
    _flush(before)
    for number in (STDOUT, STDERR):
        _hold(number)
    kept = os.dup(STDOUT)
    _Process.data = _writer(io.FileIO(kept, "w", closefd=False)) if number_of(before) == STDOUT else before
    os.dup2(STDERR, STDOUT)
    # One of its own, so that a guest that closes it closes nothing else.
    sys.stdout = _writer(_Lossy(STDERR)) if _Process.ours else sys.stderr
    try:
        yield
    finally:
        if not _Process.ours:
            _flush(sys.stdout)
            _Process.data, sys.stdout = None, before
            os.dup2(kept, STDOUT)
            os.close(kept)


def _flush(stream: TextIO) -> None:
    with suppress(AttributeError, OSError, ValueError):
        stream.flush()


def number_of(stream: TextIO) -> int | None:
    """Return the file descriptor of a stream; `None` when it has none."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def write_stdout(text: str, *, instead: str = "") -> bool:
    """Write data as UTF-8, whatever the locale; returns whether it is out, having said on stderr why it is not.

    A reader that has gone away (`| head`), and a stdout that is closed, want no data: that is no failure. `instead`
    says what to do.
    """
    stream = sys.stdout if _Process.data is None else _Process.data
    if stream is None:
        return True
    data, number = text.encode("utf-8", "surrogatepass"), number_of(stream)
    try:
        if number is None:
            stream.buffer.write(data)
        stream.flush()
        rest = memoryview(b"" if number is None else data)
        while rest:
            rest = rest[write_some(number or STDOUT, rest) :]
    except OSError as error:
        return cannot_write(stream, error, instead=instead)
    return True


def write_some(number: int, data: memoryview) -> int:
    """Write what can be written, waiting until that is something; returns how much. Raises `OSError`."""
    while True:
        try:
            return os.write(number, data)
        except BlockingIOError:
            import select  # only where whoever shares the pipe has set it not to block

            select.select((), (number,), ())


def cannot_write(stream: TextIO, error: OSError, *, instead: str = "") -> bool:
    """Say why stdout cannot be written to; returns whether that is no failure, since its reader has gone away."""
    # The interpreter flushes the stream once more at exit, and would complain once more.
    number = number_of(stream)
    if number is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    if error.errno in _GONE:
        return True
    why = (error.strerror or "it failed").lower()
    sys.stderr.write(f"tuvl: cannot write to stdout: {why}{instead and '; ' + instead}\n")
    return False


def flush_stdout() -> bool:
    """Write out what stdout still holds; returns whether it is out."""
    stream = sys.stdout
    try:
        stream.flush()
    except OSError as error:
        return cannot_write(stream, error)
    except (AttributeError, ValueError):
        return True  # closed, or there is none
    return True
