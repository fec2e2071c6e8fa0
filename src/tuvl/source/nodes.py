"""The tree behind a document: what stands where. Built while parsing, read only when a place is asked for."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from yaml.events import AliasEvent, CollectionStartEvent, ScalarEvent

from tuvl.source.place import Position, Range
from tuvl.source.scalars import other_reading
from tuvl.values import JsonObject, JsonValue, KeyPath

KeyEvent: TypeAlias = ScalarEvent | AliasEvent

_NODE_WEIGHT = 8


class Size(NamedTuple):
    """How much a node stands for when its aliases are written out: characters, and levels of nesting."""

    weight: int
    height: int


class MapNode:
    """A mapping: its data, and for each key where the key and the value stand.

    While parsing: `pending` is the key whose value comes next (`pending_key` is `None` when that entry is dropped),
    `merges` what `<<` names.
    """

    __slots__ = (
        "closed",
        "data",
        "end",
        "entries",
        "event",
        "expects_value",
        "merge_key",
        "merges",
        "pending",
        "pending_key",
        "size",
    )

    def __init__(self, event: CollectionStartEvent) -> None:
        self.event = event
        self.data: JsonObject = {}
        self.entries: dict[str, tuple[KeyEvent, Node]] = {}
        self.expects_value = False
        self.pending: KeyEvent | None = None
        self.pending_key: str | None = None
        self.merge_key: KeyEvent | None = None
        self.merges: Node | None = None
        self.end: Position | None = None
        self.closed = False
        self.size: Size | None = None


class SeqNode:
    """A list: its data, and where each item stands."""

    __slots__ = ("closed", "data", "end", "event", "items", "size")

    def __init__(self, event: CollectionStartEvent) -> None:
        self.event = event
        self.data: list[JsonValue] = []
        self.items: list[Node] = []
        self.end: Position | None = None
        self.closed = False
        self.size: Size | None = None


Node: TypeAlias = MapNode | SeqNode | ScalarEvent


def start_of(event: ScalarEvent | CollectionStartEvent | AliasEvent) -> Position:
    """Where an event begins."""
    mark = event.start_mark
    return Position(mark.line + 1, mark.column + 1) if mark is not None else Position(1, 1)


def range_of_event(event: ScalarEvent | AliasEvent) -> Range:
    """Where a scalar or alias stands."""
    mark = event.end_mark
    start = start_of(event)
    return Range(start, Position(mark.line + 1, mark.column + 1) if mark is not None else start)


def range_of(node: Node) -> Range:
    """Where a node stands; a block mapping or list ends with its last entry, not with the blank lines below."""
    if isinstance(node, ScalarEvent):
        return range_of_event(node)
    start = start_of(node.event)
    if node.event.flow_style and node.end is not None:
        return Range(start, node.end)
    last: Node = node
    key: KeyEvent | None = None
    while not isinstance(last, ScalarEvent) and not (last.event.flow_style and last.end is not None):
        children: list[tuple[KeyEvent | None, Node]] = (
            list(last.entries.values()) if isinstance(last, MapNode) else [(None, item) for item in last.items]
        )
        if not children:
            break
        # An alias or a merge puts text of elsewhere here; only what stands further down in the file can be the end.
        key, last = max(children, key=lambda child: _start_of_node(child[1]))
    end = range_of_event(last).end if isinstance(last, ScalarEvent) else last.end or start_of(last.event)
    if key is not None:
        end = max(end, range_of_event(key).end)
    return Range(start, max(start, end))


def _start_of_node(node: Node) -> Position:
    return start_of(node if isinstance(node, ScalarEvent) else node.event)


def locate(root: Node, path: KeyPath, *, key: bool) -> Range:
    """Find where a key path stands; see `Document.locate`."""
    node = root
    at: KeyEvent | None = None
    for part in path:
        if isinstance(node, MapNode) and part in node.entries:
            at, node = node.entries[str(part)]
        elif isinstance(node, SeqNode) and isinstance(part, int) and 0 <= part < len(node.items):
            at, node = None, node.items[part]
        else:
            return range_of(node)
    return range_of_event(at) if key and at is not None else range_of(node)


def size_of(node: Node) -> Size:
    """Measure a node whose parts are complete; each node is measured once."""
    if isinstance(node, ScalarEvent):
        return Size(_NODE_WEIGHT + len(node.value), 0)
    if node.size is None:
        weight = _NODE_WEIGHT
        height = 0
        for child in [entry[1] for entry in node.entries.values()] if isinstance(node, MapNode) else node.items:
            size = size_of(child)
            weight += size.weight
            height = max(height, size.height)
        node.size = Size(weight, height + 1)
    return node.size


def ambiguous_scalars(root: Node) -> Iterator[tuple[KeyPath, ScalarEvent, str]]:
    """Yield the plain values that YAML 1.1 tools read differently; text that is aliased counts once."""
    seen: set[int] = set()
    waiting: list[tuple[KeyPath, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, ScalarEvent):
            reading = None if node.style else other_reading(node.value)
            if reading is not None:
                yield path, node, reading
        elif id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, MapNode):
                waiting += [((*path, name), child) for name, (_, child) in reversed(node.entries.items())]
            else:
                waiting += [((*path, index), child) for index, child in reversed(list(enumerate(node.items)))]
