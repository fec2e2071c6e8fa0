"""What personal data and credentials look like: a pattern finds candidates, a checksum or a count of digits decides.

Every candidate ends where a word ends, and no label holds a letter next to another word: what is left after a mask is
the text that was there before, so that masking twice changes nothing.
"""

import re
from collections.abc import Callable, Iterator

from tuvl.dataclass import dataclass
from tuvl.linear_regex import LinearRegex

Span = tuple[int, int]

_AT = r"(?:@|%40|\\+u0040)"
_EMAIL = rf"[\pL\pN.!#$%&'+?^_~-]+{_AT}(?:[\pL\pN-]+\.)+[\pL\pN-]{{2,}}"
_EMAIL_AT_ADDRESS = rf"[\pL\pN.!#$%&'+?^_~-]+{_AT}\[[0-9A-Fa-f:.]+\]"
_PHONE = "|".join(
    (
        r"\+[1-9][\d ().\-/]{5,48}\d\b",
        r"\b00[1-9]\d{0,3}[ ().\-/][\d ().\-/]{4,48}\d\b",
        r"\(\+?\d{2,5}\)[ .\-/]?\d{2,8}(?:[ .\-/]\d{2,8}){0,6}\b",
        r"\b\d{3}[ .\-]\d{3}[ .\-]\d{4}\b",
        r"\b0\d{1,4}[ .\-/]\d{3,10}(?:[ .\-/]\d{2,8}){0,6}\b",
        r"\b0[1-9](?:[ .\-]\d{2}){4}\b",
    )
)
_CARD = r"(?:\b|_)\d(?:[ \-]?\d){12,}(?:\b|_)"
_IBAN = r"(?i)\b[a-z]{2}\d{2}(?:[ \-]?[a-z0-9]{4}){2,7}(?:[ \-]?[a-z0-9]{1,3})?\b"
_KEY = "|".join(
    (
        r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}\b",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{16,})\b",
        r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}\b",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bAIza[A-Za-z0-9_\-]{30,}\b",
        r"\b(?:hf|npm)_[A-Za-z0-9]{30,}\b",
        r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\b",
        r"\b(?i:bearer)[ \t]+[A-Za-z0-9._~+/\-]{16,}=*",
        r"""://[^\s:/@"'<>\\\x00]+:[^\s/@"'<>\\\x00]+@""",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-\x00]|-[^-\x00])*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
    )
)


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of data: the label that takes its place, the pattern, and what of a candidate is really of that kind."""

    label: bytes
    pattern: LinearRegex
    parts: Callable[[bytes], list[Span]]
    """Given a candidate, returns the parts of it to mask."""

    def mask(self, text: bytes) -> bytes:
        """Return the text with everything of this kind masked."""
        pieces: list[bytes] = []
        end = 0
        for start, stop in self._found(text):
            pieces += (text[end:start], self.label)
            end = stop
        return b"".join((*pieces, text[end:])) if pieces else text

    def _found(self, text: bytes) -> Iterator[Span]:
        position = 0
        while (candidate := self.pattern.first(text, position)) is not None:
            start, stop = candidate
            parts = self.parts(text[start:stop])
            yield from ((start + begin, start + end) for begin, end in parts)
            # What begins inside a refused candidate may still be real. Only short candidates are looked at twice.
            again = stop - start <= _SHORT
            position = stop if not again else start + parts[-1][1] if parts else _past_first_word(text, start, stop)


_SHORT = 64
_WORD = re.compile(rb"[0-9A-Za-z]+")


def _past_first_word(text: bytes, start: int, stop: int) -> int:
    word = _WORD.search(text, start, stop)
    return word.end() if word else stop


def _all(candidate: bytes) -> list[Span]:
    return [(0, len(candidate))]


def _key(candidate: bytes) -> list[Span]:
    if candidate.startswith(b"://"):  # of an address with a password, only name and password go
        return [(3, len(candidate) - 1)]
    return _all(candidate)


def _phone(candidate: bytes) -> list[Span]:
    # More than the 15 digits of a number are several numbers, one behind the other.
    return _all(candidate) if _digits(candidate) >= 8 else []


def _digits(text: bytes) -> int:
    return sum(48 <= byte <= 57 for byte in text)


_RUN = re.compile(rb"\d+")


def _card(candidate: bytes) -> list[Span]:
    """Look for card numbers among groups of digits: 13 to 19 digits that satisfy the checksum."""
    groups = [match.span() for match in _RUN.finditer(candidate)]
    found: list[Span] = []
    first = 0
    while first < len(groups):
        last = _card_end(candidate, groups, first)
        if last is None:
            first += 1
        else:
            found.append((groups[first][0], groups[last][1]))
            first = last + 1
    return found


def _card_end(candidate: bytes, groups: list[Span], first: int) -> int | None:
    """Return the last group of the longest card number that begins with the first one."""
    digits, found = b"", None
    for index in range(first, len(groups)):
        digits += candidate[slice(*groups[index])]
        if len(digits) > 19:
            break
        if len(digits) >= 13 and digits[0] in b"23456" and _luhn(digits):
            found = index
    return found


def _luhn(digits: bytes) -> bool:
    total = 0
    for index, byte in enumerate(reversed(digits)):
        digit = byte - 48
        if index % 2:
            digit = digit * 2 - 9 if digit > 4 else digit * 2
        total += digit
    return total % 10 == 0


_GROUP_END = re.compile(rb"(?<=[0-9A-Za-z])(?=[ \-]|$)")


def _iban(candidate: bytes) -> list[Span]:
    """Find the longest beginning of a candidate that is an IBAN by its checksum; words may follow it."""
    ends = [match.start() for match in _GROUP_END.finditer(candidate)]
    for end in reversed(ends):
        number = candidate[:end].replace(b" ", b"").replace(b"-", b"").upper()
        if 15 <= len(number) <= 34 and _mod_97(number) == 1:
            return [(0, end)]
    return []


def _mod_97(number: bytes) -> int:
    return int("".join(str(int(chr(byte), 36)) for byte in number[4:] + number[:4])) % 97


DETECTORS: tuple[Detector, ...] = (
    Detector(b"[key]", LinearRegex(_KEY), _key),
    Detector(b"[email]", LinearRegex(f"{_EMAIL}|{_EMAIL_AT_ADDRESS}"), _all),
    Detector(b"[iban]", LinearRegex(_IBAN), _iban),
    Detector(b"[card]", LinearRegex(_CARD), _card),
    Detector(b"[phone]", LinearRegex(_PHONE), _phone),
)
"""The kinds that are looked for, in this order."""

_ANY = LinearRegex("|".join(f"(?:{detector.pattern.pattern})" for detector in DETECTORS))


def mask_bytes(text: bytes) -> bytes:
    """Return a text, as UTF-8, with everything masked that a detector confirms."""
    if not _ANY.found_in(text):
        return text
    for detector in DETECTORS:
        text = detector.mask(text)
    return text


def card_number(value: int) -> bool:
    """Whether a number, written out, is a card number."""
    digits = str(value).encode() if 10**12 <= value < 10**19 else b""
    return bool(digits) and bool(_card(digits))
