"""Blanks out what must not be shown in the source lines that a report quotes."""

from collections.abc import Iterable
from typing import TypeAlias

Stretch: TypeAlias = tuple[int, int, int, int]
"""Line and column of the beginning, line and column just past the end; all count from 1."""

MASK = "*"


def blanked(text: str, stretches: Iterable[Stretch]) -> str:
    """Return the text with every character of the stretches replaced; lines and columns stay as they are."""
    lines = text.splitlines(keepends=True)
    for line, column, end_line, end_column in stretches:
        for number in range(line, min(end_line, len(lines)) + 1):
            content = lines[number - 1].rstrip("\r\n")
            start = column - 1 if number == line else 0
            stop = end_column - 1 if number == end_line else len(content)
            hidden = MASK * len(content[start:stop])
            lines[number - 1] = content[:start] + hidden + content[stop:] + lines[number - 1][len(content) :]
    return "".join(lines)
