"""A text between an editor and the parser: the same lines, columns counted in the units the editor counts in."""

from collections.abc import Iterator
from functools import cached_property

from lsprotocol import types

from tuvl.dataclass import dataclass
from tuvl.source.decode import split_lines
from tuvl.source.place import Position, Range

UTF16 = "utf-16"


@dataclass(frozen=True)
class EditorText:
    """A text as the editor has it; `encoding` is what its columns count."""

    text: str
    encoding: str = UTF16

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return split_lines(self.text)

    def line(self, number: int) -> str:
        """One line, counted from 1; empty past the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def to_position(self, place: Position) -> types.Position:
        """Say a position of ours as the editor does."""
        line = self.line(place.line)
        return types.Position(line=place.line - 1, character=self._units(line[: place.column - 1]))

    def to_range(self, place: Range) -> types.Range:
        """Say a range of ours as the editor does; one that ends past its line ends with it."""
        return types.Range(start=self.to_position(place.start), end=self.to_position(place.end))

    def from_position(self, position: types.Position) -> Position:
        """Read a position of the editor; past the end of a line it is the end of the line."""
        line = self.line(position.line + 1)
        if line.isascii():
            return Position(position.line + 1, min(position.character, len(line)) + 1)
        units = 0
        for index, char in enumerate(line):
            if units >= position.character:
                return Position(position.line + 1, index + 1)
            units += self._units(char)
        return Position(position.line + 1, len(line) + 1)

    def changed(self, change: types.TextDocumentContentChangeEvent) -> "EditorText":
        """The text after a change; one without a range replaces everything."""
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return EditorText(change.text, self.encoding)
        start = self._index(self.from_position(change.range.start))
        end = self._index(self.from_position(change.range.end))
        return EditorText(self.text[:start] + change.text + self.text[max(start, end) :], self.encoding)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line)
            at += 2 if self.text[at : at + 2] == "\r\n" else 1
        return starts

    def _index(self, place: Position) -> int:
        return len(self.text) if place.line > len(self.lines) else self._starts[place.line - 1] + place.column - 1

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding == types.PositionEncodingKind.Utf32:
            return len(text)
        if self.encoding == types.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "replace"))
        return len(text) + sum(char > "\uffff" for char in text)

    def edits_to(self, new: str) -> list[types.TextEdit]:
        """The edits that make another text of this one, as small as a line allows; both have as many lines."""
        return list(self._edits(split_lines(new)))

    def _edits(self, lines: list[str]) -> Iterator[types.TextEdit]:
        for number, (old, new) in enumerate(zip(self.lines, lines, strict=True), start=1):
            if old == new:
                continue
            start = _common(old, new)
            end = _common(old[start:][::-1], new[start:][::-1])
            place = Range(Position(number, start + 1), Position(number, len(old) - end + 1))
            yield types.TextEdit(range=self.to_range(place), new_text=new[start : len(new) - end])


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
