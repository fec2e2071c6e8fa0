"""What a person sees of a run on stderr: one calm status line on a terminal, plain lines elsewhere.

Events come from a thread of their own, ticks and words of the command from the main one.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TextIO

from tuvl.cli.spoken import SpokenLines
from tuvl.cli.streams import number_of, write_some
from tuvl.cli.wording import count, missed_line, step_line
from tuvl.events.progress import Progress
from tuvl.events.serialize import to_wire
from tuvl.events.sink import BatchSink
from tuvl.events.types import Event, Iteration, RunFinished, StepFinished
from tuvl.spec.signals import RESERVED_EXITS
from tuvl.values import printable, printable_lines

REPAINT_EVERY_S = 0.25

Mark = Literal["good", "bad", "now", "said"]

_CLEAR_TO_END = "\x1b[K"
_MARKS: dict[Mark, tuple[str, str]] = {"good": ("✓", "+"), "bad": ("✗", "x"), "now": ("›", ">"), "said": ("│", "|")}
_COLOURS: dict[Mark, str] = {"good": "32", "bad": "31", "now": "36", "said": "2"}
_JOINT = " · "
_FALLBACK_COLUMNS = 80
_LEAST_COLUMNS = 20
_PIPE_TAKES = 4096


class View(Protocol):
    """A sink of events that also prints what the command has to say, without getting into its own way."""

    def accept(self, event: Event) -> None:
        """Follow one event."""
        ...

    def say(self, line: str, *, mark: Mark = "good") -> None:
        """Print a line that stays."""
        ...

    def warn(self, line: str) -> None:
        """Say that something which was asked for is not done: every view does, also one that shows nothing else."""
        ...

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Print a question that stays, the prompt last on an open line; nothing is repainted until `answered`."""
        ...

    def answered(self) -> None:
        """Take the terminal back."""
        ...

    def tick(self) -> None:
        """Show that time passes; called every `REPAINT_EVERY_S` seconds."""
        ...

    def close(self) -> None:
        """End the view of the run; `say` still works."""
        ...


class LiveStatus:
    """A terminal: what has ended stays as lines, what goes on is one line that is written over."""

    def __init__(
        self,
        stream: TextIO,
        *,
        colour: bool,
        now: Callable[[], float] = time.monotonic,
        columns: int | None = None,
    ) -> None:
        self._stream = stream
        self._colour = colour
        self._ascii = not _can_write(stream, "✓✗›│·→…")
        self._now = now
        self._columns = columns
        self._began = now()
        self._painted = ""
        self._open = True
        self._asking = False
        self._progress = Progress()
        self._spoken = SpokenLines()
        self._lock = threading.Lock()

    def accept(self, event: Event) -> None:
        """Follow one event."""
        with self._lock:
            self._progress.follow(event)
            for line in self._spoken.take(event):
                self._print(line, "said")
            if isinstance(event.body, RunFinished) and (missed := missed_line(event.body)):
                self._print(missed, "bad")
            if isinstance(event.body, StepFinished) and not _of_an_item(event):
                ended = self._progress.ended(event)
                line = step_line(ended.id, event.body, turns=ended.turn, tool_calls=ended.tool_calls)
                self._print(printable(line), "bad" if event.body.signal in RESERVED_EXITS else "good")
            else:
                self._repaint()

    def say(self, line: str, *, mark: Mark = "good") -> None:
        """Print a line that stays, whole: a terminal wraps it where it is narrow."""
        with self._lock:
            self._print(line, mark)

    def warn(self, line: str) -> None:
        """Print the line as one of those that stay."""
        self.say(line, mark="bad")

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Print the question where the status line was."""
        with self._lock:
            self._asking = True
            self._painted = ""
            self._write(f"\r{_CLEAR_TO_END}" + _question(lines, prompt, in_ascii=self._ascii))

    def answered(self) -> None:
        """Paint the status line again."""
        with self._lock:
            self._asking = False
            self._repaint()

    def tick(self) -> None:
        """Repaint the status line, when it says something new."""
        with self._lock:
            self._repaint()

    def close(self) -> None:
        """Wipe the status line; it is not painted again."""
        with self._lock:
            if self._open and self._painted:
                self._write(f"\r{_CLEAR_TO_END}")
            self._open = False

    def _print(self, line: str, mark: Mark) -> None:
        self._painted = ""
        text = self._dressed(mark, printable_lines(line)).replace("\n", f"{_CLEAR_TO_END}\n")
        self._write(f"\r{text}{_CLEAR_TO_END}\n")

    def _repaint(self) -> None:
        if not self._open or self._asking:
            return
        # One column for the mark, one for its space, and one left free: a full line makes some terminals scroll.
        parts = [printable(part) for part in self._progress.status(self._now() - self._began)]
        line = _fitting(parts, self._width() - 3)
        if line != self._painted:
            self._painted = line
            # Written over and then cleared to its end, in one write: the line never goes blank in between.
            self._write(f"\r{self._dressed('now', line)}{_CLEAR_TO_END}")

    def _dressed(self, mark: Mark, line: str) -> str:
        sign = _MARKS[mark][self._ascii]
        if self._ascii:
            line = _in_ascii(line)
        return f"\x1b[{_COLOURS[mark]}m{sign}\x1b[0m {line}" if self._colour else f"{sign} {line}"

    def _width(self) -> int:
        return max(_columns_of(self._stream) if self._columns is None else self._columns, _LEAST_COLUMNS)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            # The terminal is gone; the run is not.
            self._open = False


class PlainLines:
    """A log or a pipe: one line for each turn of an agent and each step that ended, without control codes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._ascii = not _can_write(stream, "·→…")
        self._progress = Progress()
        self._spoken = SpokenLines()

    def accept(self, event: Event) -> None:
        """Follow one event."""
        progress = self._progress
        progress.follow(event)
        for line in self._spoken.take(event):
            if line.strip():
                self.say(f"{event.step_id} says: {line}")
        match event.body:
            case Iteration() as body:
                calls = count(body.tool_calls, "tool call")
                said = f"turn {body.iteration} · {calls} · {count(progress.tokens, 'token')}"
                self.say(f"{event.step_id}: {said}")
            case StepFinished() as body if not _of_an_item(event):
                ended = progress.ended(event)
                self.say(printable(step_line(ended.id, body, turns=ended.turn, tool_calls=ended.tool_calls)))
            case RunFinished() as body if missed := missed_line(body):
                self.say(missed)
            case _:
                pass

    def say(self, line: str, *, mark: Mark = "good") -> None:
        """Print a line; the mark is for terminals."""
        _tell(self._stream, line, in_ascii=self._ascii)

    def warn(self, line: str) -> None:
        """Print the line."""
        self.say(line)

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Print the question."""
        _ask(self._stream, lines, prompt, in_ascii=self._ascii)

    def answered(self) -> None:
        """Do nothing: lines are not repainted."""

    def tick(self) -> None:
        """Do nothing: lines are not repainted."""

    def close(self) -> None:
        """Do nothing: nothing is left behind."""


class JsonLines(BatchSink):
    """Another program: one event a line, and nothing else on the stream but what goes wrong."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._number = number_of(stream)

    def accept_batch(self, events: Sequence[Event]) -> None:
        """Write events and wait for the reader as long as it takes; the fan-out notices when it has gone away."""
        lines = (json.dumps(to_wire(event), ensure_ascii=True, separators=(",", ":")) for event in events)
        text = "".join(f"{line}\n" for line in lines)
        if self._number is None:
            self._stream.write(text)
            self._stream.flush()
            return
        # Past the stream and its lock: a reader that hangs must not hang what else is written, nor the exit.
        rest = memoryview(text.encode("ascii"))
        while rest:
            rest = rest[write_some(self._number, rest[:_PIPE_TAKES]) :]
            self.progress += 1

    def say(self, line: str, *, mark: Mark = "good") -> None:
        """Say nothing: all that the lines of a view say stands in the events or in the result."""

    def warn(self, line: str) -> None:
        """Print the line: neither the events nor the result have it."""
        _warn(self._stream, line)

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Ask nothing: nobody is asked where a program reads."""

    def answered(self) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Silence:
    """Nobody looks, unless there is a question."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def accept(self, event: Event) -> None:
        """Ignore the event."""

    def say(self, line: str, *, mark: Mark = "good") -> None:
        """Say nothing."""

    def warn(self, line: str) -> None:
        """Print the line: whoever wants to hear nothing of a run still wants what it was asked for."""
        _warn(self._stream, line)

    def question(self, lines: Sequence[str], prompt: str) -> None:
        """Print the question: whoever is asked must see it."""
        _ask(self._stream, lines, prompt, in_ascii=not _can_write(self._stream, "✓…"))

    def answered(self) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def view_for(stream: TextIO, environ: Mapping[str, str]) -> View:
    """Return the view that suits a stream; `NO_COLOR` takes the colours, `TERM=dumb` the repainting."""
    if not stream.isatty() or environ.get("TERM", "") in {"", "dumb"}:
        return PlainLines(stream)
    return LiveStatus(stream, colour=not environ.get("NO_COLOR"))


def _warn(stream: TextIO, line: str) -> None:
    _tell(stream, line, in_ascii=not _can_write(stream, "·→…"))


def _tell(stream: TextIO, line: str, *, in_ascii: bool) -> None:
    line = printable_lines(line)
    try:
        stream.write(f"tuvl: {_in_ascii(line) if in_ascii else line}\n")
        stream.flush()
    except OSError:
        # Nobody reads any more; the run goes on.
        return


def _question(lines: Sequence[str], prompt: str, *, in_ascii: bool) -> str:
    text = "".join(f"{printable(line)}\n" for line in lines) + prompt
    return text.encode("ascii", "backslashreplace").decode() if in_ascii else text


def _ask(stream: TextIO, lines: Sequence[str], prompt: str, *, in_ascii: bool) -> None:
    try:
        stream.write(_question(lines, prompt, in_ascii=in_ascii))
        stream.flush()
    except OSError:
        # The terminal is gone; the read that follows will say so.
        return


def _of_an_item(event: Event) -> bool:
    """Whether an event belongs to one item of a list: a line for each would bury the rest."""
    return "[" in (event.step_id or "")


def _in_ascii(line: str) -> str:
    plain = line.replace(_JOINT, ", ").replace("→", "->").replace("…", "~")
    return plain.encode("ascii", "backslashreplace").decode()


def _fitting(parts: list[str], width: int) -> str:
    """Join as many parts as fit; the first is there in any case, cut if need be."""
    line, *rest = parts
    for part in rest:
        if len(line) + len(_JOINT) + len(part) > width:
            break
        line += _JOINT + part
    return line if len(line) <= width else line[: width - 1] + "…"


def _columns_of(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _FALLBACK_COLUMNS
    except OSError:
        return _FALLBACK_COLUMNS


def _can_write(stream: TextIO, sample: str) -> bool:
    try:
        sample.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
