"""What models say while they say it, as lines for people: whole lines, long ones broken between words."""

from dataclasses import field

from tuvl.dataclass import dataclass
from tuvl.events.types import (
    AgentEnded,
    Event,
    Iteration,
    StepFinished,
    StreamEnded,
    StreamReset,
    TextDelta,
    TextWithheld,
)
from tuvl.values import printable_lines

LINE_LENGTH = 100
"""Where a long line is broken, in characters."""

_VOID = "(that reply was cut off and does not count)"
_WITHHELD = "(the text is not shown while it is written: a guardrail looks at the whole of it first)"


@dataclass(slots=True)
class SpokenLines:
    """Gathers the text of each agent until there is a line to print."""

    _waiting: dict[str, str] = field(default_factory=dict)
    _shown: set[str] = field(default_factory=set)
    """Agents of whose present reply something was printed."""

    def take(self, event: Event) -> list[str]:
        """Take in one event and return the lines that are ready to be printed."""
        step = event.step_id or ""
        match event.body:
            case TextDelta(text=text):
                return self._said(step, text)
            case StreamReset():
                return self._voided(step)
            case TextWithheld():
                return [_WITHHELD]
            case Iteration() | StreamEnded() | AgentEnded() | StepFinished():
                return self._finished(step)
            case _:
                return []

    def _said(self, step: str, text: str) -> list[str]:
        *lines, rest = (self._waiting.get(step, "") + _printable(text)).split("\n")
        ready = [part for line in lines for part in _broken(line)]
        *whole, self._waiting[step] = _broken(rest)
        ready += whole
        if ready:
            self._shown.add(step)
        return ready

    def _voided(self, step: str) -> list[str]:
        self._waiting.pop(step, None)
        if step not in self._shown:
            return []
        self._shown.discard(step)
        return [_VOID]

    def _finished(self, step: str) -> list[str]:
        self._shown.discard(step)
        rest = self._waiting.pop(step, "")
        return [rest] if rest.strip() else []


def _broken(line: str) -> list[str]:
    """Break a line that is too long, between words where it has any; the last part may still grow."""
    parts: list[str] = []
    while len(line) > LINE_LENGTH:
        at = line.rfind(" ", 1, LINE_LENGTH + 1)
        end = at if at > 0 else LINE_LENGTH
        parts.append(line[:end])
        line = line[end:].removeprefix(" ")
    return [*parts, line]


def _printable(text: str) -> str:
    """Escape what would move the cursor, change colours or hide text: a model's words may hold anything."""
    return printable_lines(text.replace("\r\n", "\n").replace("\r", " ").replace("\t", " "))
