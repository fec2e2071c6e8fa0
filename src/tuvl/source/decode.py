"""From bytes to text: UTF-8 always, one leading byte order mark allowed, and everything else with its place."""

import codecs
import re

from tuvl.source.place import Position, Range, SourceProblem

MAX_BYTES = 5 * 1024 * 1024
"""Largest file that is read."""

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
"""Not compiled before it is needed, which is hardly ever: that takes longer than reading a file."""
_INVISIBLE_BREAKS = re.compile("[\x85\u2028\u2029]")
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_SAVE_AS_UTF8 = "save the file as UTF-8"


def split_lines(text: str) -> list[str]:
    """Split at the line breaks that YAML and editors know: LF, CRLF, CR; nothing else."""
    return _LINE_BREAK.split(text) if "\r" in text else text.split("\n")


def position_at(text: str, index: int) -> Position:
    """Turn an index into a position."""
    lines = split_lines(text[:index])
    return Position(len(lines), len(lines[-1]) + 1)


def decode(raw: bytes) -> tuple[str, SourceProblem | None]:
    """Decode a file; the text comes without its byte order mark, and as well as can be when there is a problem."""
    if len(raw) > MAX_BYTES:
        message = f"the file is {len(raw):,} bytes long; {MAX_BYTES // 2**20} MiB is the most that is read"
        return "", _unsafe(message, "split it", Range.at(1, 1))
    for mark, name in _OTHER_ENCODINGS:
        if raw.startswith(mark):
            return "", _unsafe(f"the file is {name}, not UTF-8", _SAVE_AS_UTF8, Range.at(1, 1))
    if b"\0" in raw[:2] and len(raw) > 2:
        return "", _unsafe("the file is binary or UTF-16 without a mark, not UTF-8", _SAVE_AS_UTF8, Range.at(1, 1))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(raw, error)
    if text.startswith("\ufeff"):
        text = text[1:]
        if text.startswith("\ufeff"):
            message = "the file starts with two byte order marks"
            return text, _unsafe(message, "delete one of these invisible characters (U+FEFF)", Range.at(1, 1))
    return text, None


def _undecodable(raw: bytes, error: UnicodeDecodeError) -> tuple[str, SourceProblem]:
    before = raw[: error.start].decode("utf-8")
    line, column = position_at(before.removeprefix("\ufeff"), len(before))
    text = raw.decode("utf-8", errors="replace").removeprefix("\ufeff")
    message = f"byte 0x{raw[error.start]:02x} at offset {error.start} is not UTF-8 text"
    return text, _unsafe(message, _SAVE_AS_UTF8, Range.at(line, column))


def forbidden_character(text: str) -> SourceProblem | None:
    """Find the first control character that no YAML text may hold."""
    found = re.search(_FORBIDDEN, text)
    if found is None:
        return None
    name = f"U+{ord(found[0]):04X}"
    line, column = position_at(text, found.start())
    return _unsafe(
        f"the text holds the control character {name}",
        "delete it; inside double quotes it can be written as an escape",
        Range.at(line, column),
    )


def hide_invisible_breaks(text: str) -> tuple[str, dict[str, str]]:
    """Replace U+0085, U+2028 and U+2029 by stand-ins, and return the text with a table stand-in → character.

    libyaml takes these for line breaks, as YAML 1.1 did; to YAML 1.2 and to editors they are characters of the line.
    """
    if text.isascii() or _INVISIBLE_BREAKS.search(text) is None:
        return text, {}
    present = set(text)
    free = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in present)
    table = {next(free): character for character in "\x85\u2028\u2029"}
    return text.translate({ord(character): stand_in for stand_in, character in table.items()}), table


def _unsafe(message: str, hint: str, place: Range) -> SourceProblem:
    return SourceProblem(code="TV003", message=message, hint=hint, range=place)
