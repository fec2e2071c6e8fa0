"""Masks a text or a JSON value: by name, by look, at any depth, also in JSON that is held in strings."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache
from typing import TypeAlias, cast

from tuvl.dataclass import dataclass
from tuvl.guardrails.masking.detectors import card_number, mask_bytes
from tuvl.guardrails.masking.fields import FieldNames
from tuvl.linear_regex import encoded
from tuvl.redaction import MASK
from tuvl.values import JsonValue, dump_json

MOST_NESTING = 8
"""How often JSON inside a string inside JSON is opened; deeper, it is treated as the text it is."""

_CARD = "[card]"
_BETWEEN = "\x00"
_FRAGMENT = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)


class Masker:
    """Takes personal data and credentials out. It never fails, changes nothing it is given, and is idempotent."""

    def __init__(self, fields: Iterable[str] = ()) -> None:
        self._names = FieldNames(fields)

    def text(self, text: str) -> str:
        """Return a text masked; one that is JSON stays JSON."""
        return self._text(text, 0)

    def value(self, value: JsonValue) -> JsonValue:
        """Return a copy of a value, masked."""
        walk = _Walk(self._names, 0)
        copy = walk.copy(value)
        return walk.rebuilt(copy, iter(self._leaves(walk)))

    def _text(self, text: str, depth: int) -> str:
        try:
            value = _parsed(text)
            if value is _NO_JSON:
                return self._prose(text, depth)
            return self._json(text, value, depth)
        except RecursionError:
            return self._plain(text)

    def _json(self, text: str, value: JsonValue, depth: int) -> str:
        walk = _Walk(self._names, depth)
        copy = walk.copy(value)
        leaves = self._leaves(walk)
        if not walk.changed and leaves == walk.leaves:
            return text
        return dump_json(walk.rebuilt(copy, iter(leaves)))

    def _leaves(self, walk: "_Walk") -> list[str]:
        """Mask all texts of a value; one search over all of them is many times faster than a search in each."""
        joined = _BETWEEN.join(walk.leaves)
        masked = self._plain(joined).split(_BETWEEN)
        if len(masked) != len(walk.leaves):  # a text holds the separator itself
            masked = [self._plain(leaf) for leaf in walk.leaves]
        for index in walk.prose:
            masked[index] = self._prose(walk.leaves[index], walk.depth + 1)
        return masked

    def _prose(self, text: str, depth: int) -> str:
        """Mask a text that is no JSON as a whole; what begins on a line of its own may be."""
        if depth >= MOST_NESTING:
            return self._plain(text)
        pieces: list[str] = []
        end = 0
        for start, stop, value in _fragments(text):
            pieces += (self._plain(text[end:start]), self._json(text[start:stop], value, depth + 1))
            end = stop
        return "".join((*pieces, self._plain(text[end:])))

    def _plain(self, text: str) -> str:
        if not text:
            return text
        raw = encoded(text)
        masked = mask_bytes(self._names.mask(raw))
        return text if masked is raw else masked.decode()


@lru_cache(maxsize=64)
def masker_for(fields: tuple[str, ...]) -> Masker:
    """Return the masker of these names; they come from files, and making one costs a millisecond."""
    return Masker(fields)


@dataclass(slots=True)
class _Nested:
    """A string that is JSON: what stood there, what it says, and the copy that is being masked."""

    text: str
    value: JsonValue
    copy: "_Copy"


@dataclass(slots=True)
class _Done:
    """What takes the place of something that is masked already."""

    value: str


_Copy: TypeAlias = "bool | int | float | str | _Nested | _Done | list[_Copy] | dict[str, _Copy] | None"


@dataclass(slots=True)
class _Walk:
    """One pass over a value: a copy of it, and the texts in it, in order."""

    names: FieldNames
    depth: int
    leaves: list[str] = field(default_factory=list)
    prose: list[int] = field(default_factory=list)
    """Leaves that hold JSON on lines of their own."""
    changed: bool = False
    """Whether something was masked already, by its name or for its number."""

    def copy(self, value: JsonValue) -> _Copy:
        """Copy a value, collecting its texts."""
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.copy(item) for item in value]
        if type(value) is int and card_number(value):
            self.changed = True
            return _Done(_CARD)
        return value

    def _object(self, value: dict[str, JsonValue]) -> _Copy:
        copy: dict[str, _Copy] = {}
        for key, item in value.items():
            self.leaves.append(key)
            if item is not None and self.names.holds(key):
                self.changed |= item != MASK
                copy[key] = _Done(MASK)
            else:
                copy[key] = self.copy(item)
        return copy

    def _string(self, text: str) -> _Copy:
        if text[:1] in _OPENINGS and self.depth < MOST_NESTING:
            value = _parsed(text)
            if value is not _NO_JSON:
                self.depth += 1
                nested = _Nested(text, value, self.copy(value))
                self.depth -= 1
                return nested
        if "\n" in text and _FRAGMENT.search(text):
            self.prose.append(len(self.leaves))
        self.leaves.append(text)
        return text

    def rebuilt(self, copy: _Copy, leaves: Iterator[str]) -> JsonValue:
        """Put the masked texts into the copy."""
        if isinstance(copy, str):
            return next(leaves)
        if isinstance(copy, list):
            return [self.rebuilt(item, leaves) for item in copy]
        if isinstance(copy, dict):
            made: dict[str, JsonValue] = {}
            for item in copy.values():
                key = _free(next(leaves), made)
                made[key] = self.rebuilt(item, leaves)
            return made
        if isinstance(copy, _Nested):
            value = self.rebuilt(copy.copy, leaves)
            return copy.text if value == copy.value else dump_json(value)
        return copy.value if isinstance(copy, _Done) else copy


def _free(key: str, taken: dict[str, JsonValue]) -> str:
    """Return a key that is not taken: two that are masked alike must both stay."""
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key} ({number})"
    return free


_OPENINGS = ("{", "[", '"', " ", "\n", "\t", "\r")
_NO_JSON: JsonValue = "\x00 no JSON"
"""Told from every value by identity."""


def _parsed(text: str) -> JsonValue:
    """Read a text as JSON; what another reader might understand otherwise counts as no JSON."""
    begin = text.lstrip()[:1]
    if begin not in ("{", "[", '"'):
        return _NO_JSON
    try:
        return cast(JsonValue, _DECODER.decode(text))
    except ValueError:
        return _NO_JSON


def _fragments(text: str) -> Iterator[tuple[int, int, JsonValue]]:
    """Yield the objects and lists that begin on a line of their own, with where they begin and end.

    Reading what turns out to be broken costs time in proportion to the text once or twice, not once a line.
    """
    position, spare = 0, 2 * len(text) + 1000
    while spare > 0 and (line := _FRAGMENT.search(text, position)) is not None:
        start = line.end()
        try:
            value, stop = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            spare -= max(error.pos - start, 1)
            position = start + 1
        except ValueError:
            spare -= len(text) - start
            position = start + 1
        else:
            yield start, stop, cast(JsonValue, value)
            position = stop


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is repeated: readers differ in which value counts")
    return values


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large for JSON")
    return number


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse)
