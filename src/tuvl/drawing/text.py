"""How wide a text is, how it is cut, and how it is made safe to stand in XML.

No font is asked: the widths are those of a wide one, so that a text fits whatever the reader's machine draws it with.
"""

import unicodedata
from html import escape

from tuvl.values import printable, sound_text

MONOSPACE_EM = 0.61
_WIDEST_EM = 1.0
_EMOJI_EM = 1.4
_FIRST_EMOJI = 0x1F000

# Hundredths of an em, from the space to the tilde.
_SANS = (
    *(32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34),
    *(84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99),
    *(69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52),
    *(39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84),
)
_ELLIPSIS = "…"


def width(text: str, size: float, *, mono: bool = False) -> float:
    """Pixels that a text takes at most, at a font size in pixels."""
    return size * sum(_em(character, mono) for character in text)


def cut(text: str, size: float, room: float, *, mono: bool = False) -> str:
    """The text, or as much of its beginning as fits, with an ellipsis."""
    if width(text, size, mono=mono) <= room:
        return text
    left, kept = room - width(_ELLIPSIS, size, mono=mono), []
    for character in text:
        left -= size * _em(character, mono)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + _ELLIPSIS


def xml(text: str) -> str:
    """Text for XML and HTML, in content and in attributes: markup, control characters and hidden marks are inert."""
    return escape("".join(map(_legal, printable(sound_text(text)))), quote=True)


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel, in its shortest form."""
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")
    )


def _em(character: str, mono: bool) -> float:
    code = ord(character)
    if code == ord(_ELLIPSIS):
        return _WIDEST_EM
    if 0x20 <= code < 0x7F:
        return MONOSPACE_EM if mono else _SANS[code - 0x20] / 100
    if code >= _FIRST_EMOJI:
        return _EMOJI_EM
    if code > 0xFF and unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    return _WIDEST_EM if unicodedata.east_asian_width(character) not in ("W", "F") else 1.1


def _legal(character: str) -> str:
    code = ord(character)
    illegal = code < 0x20 or 0x7F <= code < 0xA0 or code in (0xFFFE, 0xFFFF) or code & 0xFFFE == 0xFFFE
    return "\N{REPLACEMENT CHARACTER}" if illegal else character
