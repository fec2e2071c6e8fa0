"""What places and calls add to the untrusted keys, worked out once, so that a workflow is followed by bits alone.

A key is followed in three layers: text that the schemas of all its writers describe, text that nothing describes, and
what an input may bring that nobody has asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from tuvl.analysis.flow_graph import KeyTable
from tuvl.analysis.schema_facts import is_closed, part_of
from tuvl.analysis.spill import OTHERS, Path, Spill, read_key
from tuvl.dataclass import dataclass

_MOST_SCHEMAS = 40
"""Schemas of one key beyond which nothing is said of it."""

_ROUNDS = 24
"""How far a schema is handed on, from a key to the one that is made of it."""


@dataclass(frozen=True)
class Layers:
    """Sets of keys, three in one number."""

    keys: KeyTable
    width: int
    public: int
    """Keys that an answer or an input may set."""

    def bit(self, path: Path) -> int:
        """The key that a dotted path reads; none where nothing of that name is known."""
        return self.keys.known(read_key(path)[0])

    def free(self, keys: int) -> int:
        """Those keys, with text that nothing describes."""
        return keys << self.width

    def unasked(self, keys: int) -> int:
        """Those keys, as something may bring them unasked."""
        return keys << 2 * self.width

    def every(self, keys: int) -> int:
        """Those keys in all layers."""
        return keys | self.stranger(keys) | self.unasked(keys)

    def stranger(self, keys: int) -> int:
        """Those keys with text that is known to come from outside."""
        return keys | self.free(keys)

    def flat(self, layered: int) -> int:
        """The keys that hold text that is known to come from outside."""
        return (layered | layered >> self.width) & ((1 << self.width) - 1)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is added to the untrusted keys, and which keys are made anew."""

    dirty: int = 0
    copies: tuple[tuple[int, int], ...] = ()
    """Keys, and the keys of which any makes them untrusted."""
    anew: int = 0

    def added(self, keys: int) -> int:
        """The keys that are untrusted now, after these were before."""
        added = self.dirty
        for targets, sources in self.copies:
            if keys & sources:
                added |= targets
        return added

    def spread(self, keys: int) -> int:
        """The same where one may be made of another, in any order and any number of times."""
        found = keys
        while (grown := found | self.added(found)) != found:
            found = grown
        return found


@dataclass(frozen=True)
class Writers:
    """All that writes text from outside: by place, and for the items of a list by the place of its body."""

    inputs: Mapping[str, object]
    """Keys that `spec.input` names, with their schemas."""
    at: Mapping[tuple[int, int | None], tuple[Spill, ...]]

    def all(self) -> Iterator[tuple[int, int | None, Spill]]:
        """Every one of them."""
        return ((source, called, spill) for (source, called), each in self.at.items() for spill in each)

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, int | None, Spill]]]:
        found: dict[str, list[tuple[int, int | None, Spill]]] = {}
        for each in self.all():
            found.setdefault(each[2].key, []).append(each)
        return found

    def of(self, name: str) -> Iterator[tuple[int, int | None, Spill]]:
        """Those that may write a key."""
        yield from self._by_name.get(name, ())
        if name != OTHERS:
            yield from (each for each in self._by_name.get(OTHERS, ()) if each[2].writes(name))

    @cached_property
    def _closed(self) -> dict[Path, bool]:
        return {}

    def closed(self, path: Path) -> bool:
        """Whether a dotted path leads to closed values, by the schemas of all that describe the key."""
        if path not in self._closed:
            key, below = read_key(path)
            known = self._schemas.get(key, ())
            self._closed[path] = bool(known) and all(is_closed(part_of(schema, below)) for schema in known)
        return self._closed[path]

    @cached_property
    def _schemas(self) -> dict[str, list[object]]:
        found = {name: [schema] for name, schema in self.inputs.items()}
        aliases: dict[str, set[tuple[str, Path]]] = {}
        for _, _, spill in self.all():
            if spill.kind == "copy" and spill.alias:
                aliases.setdefault(spill.key, set()).add(read_key(spill.alias))
            elif spill.kind != "copy" and spill.schema is not None:
                found.setdefault(spill.key, []).append(spill.schema)
        for turn in range(_ROUNDS):
            news = [_hand_on(found, key, made, last=turn == _ROUNDS - 1) for key, made in aliases.items()]
            if not any(news):
                break
        return found


def _hand_on(found: dict[str, list[object]], key: str, made: set[tuple[str, Path]], *, last: bool) -> bool:
    """Give a key the schemas of what it is made of; whether that is news."""
    own = found.setdefault(key, [])
    seen, news = set(map(id, own)), False
    for source, below in sorted(made):
        for schema in tuple(found.get(source, ())):
            part = part_of(schema, below)
            part = _NOTHING_SAID if part is None or last or len(own) >= _MOST_SCHEMAS else part
            if id(part) not in seen:
                seen.add(id(part))
                own.append(part)
                news = True
    return news


_NOTHING_SAID: Mapping[str, object] = {}


def rules_of(spills: Iterable[Spill], layers: Layers, writers: Writers, *, asks_nothing: bool, anew: int = 0) -> Rules:
    """Work them out; of an input that `asks_nothing`, whatever a step copies is taken to have come."""
    dirty = 0
    copies: list[tuple[int, int]] = []
    for spill in spills:
        if spill.key == OTHERS:
            others = layers.public & ~_united(map(layers.keys.known, spill.but))
            dirty |= layers.free(others | layers.keys.known(OTHERS))
            continue
        key = layers.keys.known(spill.key)
        if spill.kind != "copy":
            dirty |= key if spill.schema is not None else layers.free(key)
            continue
        for path in (spill.alias,) if spill.alias else spill.sources:
            source = layers.bit(path)
            if not writers.closed(path):
                copies.append((key if spill.alias else layers.free(key), source))
            copies.append((layers.free(key), layers.free(source)))
            copies.append((layers.free(key) if asks_nothing else layers.unasked(key), layers.unasked(source)))
    return Rules(dirty, tuple(copies), anew)


def _united(sets: Iterable[int]) -> int:
    united = 0
    for each in sets:
        united |= each
    return united
