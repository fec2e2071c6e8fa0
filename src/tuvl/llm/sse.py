"""Server-sent events: bytes as they come → events, however the network cut them."""

from tuvl.dataclass import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event; `event` is empty where the server named none."""

    event: str
    data: str


class SseParser:
    """Reads one stream. Lines end in any of the three ways, comments are skipped, `data` lines are joined."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._after_return = False
        self._first = True
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete."""
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")  # the second half of a line end that was cut in two
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail = []
        if rest:
            self._tail.append(rest)
        return [event for line in lines if (event := self._line(line)) is not None]

    def end(self) -> list[ServerEvent]:
        """Return the last event, when the server forgot the blank line after it."""
        events = (self._line(b"".join(self._tail)), self._dispatch())
        self._tail = []
        return [event for event in events if event is not None]

    def _line(self, line: bytes) -> ServerEvent | None:
        # Whole lines are decoded, so a character that was cut in two is whole again here.
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data = b"", []
        if not data:
            return None
        return ServerEvent(event=name.decode("utf-8", "replace"), data=b"\n".join(data).decode("utf-8", "replace"))
