"""A place in a text, shown: the source line, and carets below what is meant."""

import unicodedata
from functools import lru_cache

from tuvl.source.decode import split_lines
from tuvl.source.place import Range

MAX_WIDTH = 100
"""Terminal columns of source that are shown of a long line."""

_CUT = "…"
_TAB = "    "


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    return split_lines(text)


def excerpt(text: str, place: Range) -> str:
    """Show the first line of a place, with its number, and a line of carets; empty when the line does not exist.

    Tabs, wide and combining characters keep the carets in line; control characters are shown as `�`; of a long line
    the part around the place is shown.
    """
    lines = _lines(text)
    number = place.start.line
    if not 0 < number <= len(lines):
        return ""
    line = lines[number - 1]
    start = min(place.start.column - 1, len(line))
    end = len(line) if place.end.line > number else min(place.end.column - 1, len(line))
    before, marked, after = _window(line[:start], line[start:end], line[end:])
    gutter = f"{number:>4} | "
    blank = " " * (len(gutter) - 2) + "| "
    carets = " " * _width(before) + "^" * max(_width(marked), 1)
    return f"{gutter}{before}{marked}{after}".rstrip() + f"\n{blank}{carets}"


def _window(before: str, marked: str, after: str) -> tuple[str, str, str]:
    """Show three parts of a line in at most `MAX_WIDTH` columns, the middle one first."""
    # Each character is at least no column wide and a tab four; cutting the raw text first keeps long lines cheap.
    before, marked, after = _shown(before[-400:]), _shown(marked[:400].rstrip()), _shown(after[:400])
    if _width(before) + _width(marked) + _width(after) <= MAX_WIDTH:
        return before, marked, after
    if _width(marked) > MAX_WIDTH // 2:
        marked, after = _head(marked, MAX_WIDTH // 2) + _CUT, ""
    room = MAX_WIDTH - _width(marked) - 2
    left = min(_width(before), max(room // 2, room - _width(after)))
    if left < _width(before):
        before = _CUT + _tail(before, left)
    if room - left < _width(after):
        after = _head(after, max(room - left, 0)) + _CUT
    return before, marked, after


def _shown(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(_TAB if char == "\t" else char if char.isprintable() else "�" for char in text)


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Mn":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += _char_width(text[index])
        if used > width:
            return text[index + 1 :]
    return text
