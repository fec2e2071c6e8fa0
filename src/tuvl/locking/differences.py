"""What differs between two JSON values, in words and with its place."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import islice

from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue, KeyPath, canonical, dump_json, shorten

MOST_LINES = 2000
"""Lines of both texts together past which they are not compared line by line: the time grows with the square."""

_SHOWN_LINES = 12
_SHOWN_CHARS = 60
_MARKS = ("id", "name", "ref", "check", "runner")
"""Fields by which an entry of a list is known again when others come before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference."""

    path: KeyPath
    """Where it stands in the new value, or the nearest place that is left there."""
    label: tuple[str, ...]
    """The same for a person: keys, and what entries of lists are called."""
    said: str
    """What differs, to be read after the label."""
    diff: tuple[str, ...] = ()
    """Lines of a text before (`-`) and after (`+`)."""
    line: int | None = None
    """Of a text of several lines the first that differs, as it is now, from 1."""


@dataclass(frozen=True, slots=True)
class _Place:
    path: KeyPath = ()
    label: tuple[str, ...] = ()

    def at(self, key: str | int, name: str) -> "_Place":
        """Go one key deeper."""
        return _Place((*self.path, key), (*self.label, name))

    def of(self, said: str, diff: tuple[str, ...] = (), line: int | None = None) -> Difference:
        """Say what differs here."""
        return Difference(path=self.path, label=self.label, said=said, diff=diff, line=line)

    def lost(self, name: str, said: str) -> Difference:
        """Say what is no longer below this place."""
        return Difference(path=self.path, label=(*self.label, name), said=said)


def differences(old: JsonValue, new: JsonValue) -> Iterator[Difference]:
    """Yield what differs, in the order of the old value; nothing for values that are equal."""
    return _differences(old, new, _Place())


def _differences(old: JsonValue, new: JsonValue, place: _Place) -> Iterator[Difference]:
    if canonical(old) == canonical(new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _in_mapping(old, new, place)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _in_list(old, new, place)
    elif isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
        yield _in_text(old, new, place)
    else:
        yield place.of(change_text(old, new))


def _in_mapping(old: JsonObject, new: JsonObject, place: _Place) -> Iterator[Difference]:
    for key in (*old, *(key for key in new if key not in old)):
        if key not in new:
            yield place.lost(key, f"is gone, it was {value_text(old[key])}")
        elif key not in old:
            yield place.at(key, key).of(f"is new: {value_text(new[key])}")
        else:
            yield from _differences(old[key], new[key], place.at(key, key))


def _in_list(old: Sequence[JsonValue], new: Sequence[JsonValue], place: _Place) -> Iterator[Difference]:
    if not any(isinstance(entry, dict | list) for entry in (*old, *new)):
        yield from _in_plain_list(old, new, place)
        return
    before, after = _marked(old, new)
    for mark, index in before.items():
        if mark in after:
            yield from _differences(old[index], new[after[mark]], place.at(after[mark], mark))
        else:
            yield place.lost(mark, f"is gone, it was {value_text(old[index])}")
    for mark, index in after.items():
        if mark not in before:
            yield place.at(index, mark).of(f"is new: {value_text(new[index])}")
    yield from _in_order(before, after, place)


def _in_plain_list(old: Sequence[JsonValue], new: Sequence[JsonValue], place: _Place) -> Iterator[Difference]:
    before, after = {canonical(entry): entry for entry in old}, {canonical(entry): entry for entry in new}
    gone = [entry for key, entry in before.items() if key not in after]
    come = [entry for key, entry in after.items() if key not in before]
    if len(gone) == len(come) == 1 and len(old) == len(new):
        yield place.of(change_text(gone[0], come[0]))
        return
    if gone:
        yield place.of(f"no longer has {', '.join(map(value_text, gone))}")
    if come:
        yield place.of(f"now has {', '.join(map(value_text, come))}")
    if not gone and not come:
        yield place.of(change_text(list(old), list(new)))


def _in_order(
    before: Sequence[str] | dict[str, int], after: Sequence[str] | dict[str, int], place: _Place
) -> Iterator[Difference]:
    now = [name for name in after if name in before]
    if [name for name in before if name in after] != now:
        yield place.of(f"is in another order: {shorten(', '.join(now))}")


def _marked(old: Sequence[JsonValue], new: Sequence[JsonValue]) -> tuple[dict[str, int], dict[str, int]]:
    """What the entries of two lists are called, and where they stand."""
    for field in _MARKS:
        before, after = _by_field(old, field), _by_field(new, field)
        if len(before) == len(old) and len(after) == len(new):
            return before, after
    return {f"[{index}]": index for index in range(len(old))}, {f"[{index}]": index for index in range(len(new))}


def _by_field(entries: Sequence[JsonValue], field: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, entry in enumerate(entries):
        name = entry.get(field) if isinstance(entry, dict) else None
        if isinstance(name, str):
            found[name] = index
    return found


def _in_text(old: str, new: str, place: _Place) -> Difference:
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > MOST_LINES:
        pairs = enumerate(zip(before, after, strict=False), 1)
        first = next((number for number, pair in pairs if pair[0] != pair[1]), min(len(before), len(after)) + 1)
        return place.of(f"differs from line {first} on", line=min(first, len(after)))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    changed = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    count = sum(max(i2 - i1, j2 - j1) for _, i1, i2, j1, j2 in changed)
    # The first two lines name the files, which there are none of.
    lines = [line for line in islice(unified_diff(before, after, n=1, lineterm=""), 2, None) if line[:2] != "@@"]
    shown = lines[:_SHOWN_LINES]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} lines more")
    said = "1 line differs" if count == 1 else f"{count} lines differ"
    return place.of(said, tuple(shown), line=min(changed[0][3] + 1, len(after)))


def change_text(old: JsonValue, new: JsonValue) -> str:
    """Say that one value took the place of another."""
    before, after = value_text(old), value_text(new)
    if before == after:
        before, after = (shorten(dump_json(value), 2 * _SHOWN_CHARS) for value in (old, new))
    return f"{before} → {after}"


def value_text(value: JsonValue) -> str:
    """Show a value in a few words."""
    return shorten(value if isinstance(value, str) and value.strip() else dump_json(value), _SHOWN_CHARS)
