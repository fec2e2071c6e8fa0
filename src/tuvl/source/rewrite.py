"""Puts names in place of others in the text of a YAML file, and leaves every other character as it is.

The places come from the parser, so nothing is written anew: comments, layout and line endings stay what they were.
"""

import re
from collections.abc import Iterable, Sequence

from tuvl.dataclass import dataclass
from tuvl.source.document import parse_text
from tuvl.source.front_matter import parse_prose
from tuvl.source.place import Range
from tuvl.values import dump_json

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_SCALAR = re.compile(r"""(?P<quote>["'])[^"'\\]*(?P=quote)|[^\s"'&*!|>%@`{}\[\],#?:-][^\r\n"'{}\[\],#]*""")
_PLAIN = re.compile(r"[A-Za-z_](?:[\w./@-]|:(?=/))*")
_OTHER_MEANING = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BYTE_ORDER_MARK = "\ufeff"
_HARMLESS = frozenset({"TV004"})
"""Problems of a text that say how it is read, not that it is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A scalar on one line, and the name or the quoted text to put in its place."""

    place: Range
    new: str


def rewrite(raw: bytes, replacements: Iterable[Replacement], *, prose: bool = False) -> tuple[bytes, int]:
    """Return a file with as many of the replacements made as leave it sound, and how many those are.

    Nothing is done to a file that cannot be parsed whole. A replacement is left out when its place holds anything but
    a single scalar, or when the text would no longer parse to as many documents.
    """
    before = _documents(raw, prose)
    if before is None:
        return raw, 0
    wanted = tuple(dict.fromkeys(replacements))
    done = _replaced(raw, wanted)
    if done != raw and _documents(done, prose) == before:
        return done, sum(_fits(raw, one) for one in wanted)
    # One of them does harm: a key that would stand there twice, say. The others are made one by one.
    kept: list[Replacement] = []
    for one in wanted:
        tried = _replaced(raw, (*kept, one))
        if _fits(raw, one) and _documents(tried, prose) == before:
            kept.append(one)
    return _replaced(raw, kept), len(kept)


def _documents(raw: bytes, prose: bool) -> int | None:
    """Return how many documents a file holds, `None` when it is broken."""
    if prose:
        parsed = parse_prose(raw, file="")
        problems, count = parsed.problems, int(parsed.document is not None)
    else:
        source = parse_text(raw, file="")
        problems, count = source.problems, len(source.documents)
    return None if any(problem.code not in _HARMLESS for problem in problems) else count


def _lines(raw: bytes) -> list[str]:
    return _LINE.findall(raw.decode("utf-8").removeprefix(_BYTE_ORDER_MARK))


def _old(lines: Sequence[str], place: Range) -> str | None:
    """Return the scalar at a place; `None` when it is no scalar of one line."""
    start, end = place
    if start.line != end.line or start.line > len(lines):
        return None
    text = lines[start.line - 1][start.column - 1 : end.column - 1]
    return text if _SCALAR.fullmatch(text) else None


def _fits(raw: bytes, one: Replacement) -> bool:
    return _old(_lines(raw), one.place) is not None


def _replaced(raw: bytes, replacements: Sequence[Replacement]) -> bytes:
    lines = _lines(raw)
    # From the end, so that the places before stay where they are.
    last = None
    for one in sorted(replacements, key=lambda one: one.place, reverse=True):
        old = _old(lines, one.place)
        overlaps = last is not None and one.place.end > last
        if old is None or overlaps:
            continue
        number, column = one.place.start
        line = lines[number - 1]
        lines[number - 1] = line[: column - 1] + _written(one.new, old) + line[one.place.end.column - 1 :]
        last = one.place.start
    mark = _BYTE_ORDER_MARK if raw.startswith(_BYTE_ORDER_MARK.encode()) else ""
    return (mark + "".join(lines)).encode("utf-8")


def _written(new: str, old: str) -> str:
    """Write a name the way the one before was written: in the same quotes, or in none where it needs none."""
    if new.startswith('"'):
        return new
    quote = old[0]
    if quote in "\"'" and not set(new) & set("\"'\\"):
        return f"{quote}{new}{quote}"
    return new if _PLAIN.fullmatch(new) and new.lower() not in _OTHER_MEANING else dump_json(new)
