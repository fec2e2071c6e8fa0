"""libyaml's events → data and nodes, one document at a time, without recursion and bounded whatever the text."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from tuvl.source.nodes import KeyEvent, MapNode, Node, SeqNode, range_of, range_of_event, size_of, start_of
from tuvl.source.place import Position, ProblemCode, Range, SourceProblem
from tuvl.source.scalars import ScalarError, plain_value
from tuvl.values import MAX_DEPTH, JsonValue, KeyPath

MAX_ALIASED = 1024 * 1024
"""Most that aliases may add to one document, in characters of the text written out."""

_REFUSED = "refused"
"""The tag of what stands in for something that was told already."""

MAX_PROBLEMS = 100
"""Problems after which the rest of a file is not told."""


class Refused(NamedTuple):
    """A value that the reader refused, or stands in for: where it is in the data, and where in the text."""

    path: KeyPath
    start: Position


class Composer:
    """Reads the documents of one text; problems are collected in `problems`, syntax errors are libyaml's exceptions.

    `stand_ins` are the characters that `hide_invisible_breaks` put in. After an exception, `last_event` and
    `open_nodes` tell how far the reader came.
    """

    def __init__(self, text: str, *, stand_ins: Mapping[str, str], problems: list[SourceProblem]) -> None:
        self.last_event: Event | None = None
        self.open_nodes: list[MapNode | SeqNode] = []
        self._parser = CParser(text)
        self._stand_ins = stand_ins
        self._restore = {ord(stand_in): character for stand_in, character in stand_ins.items()}
        self._problems = problems
        self._anchors: dict[str, Node] = {}
        self._aliased = 0
        self._too_deep = 0
        self._root: Node | None = None
        self.refused: list[Refused] = []
        """What was told of the document that is read, and must not be judged again."""

    @property
    def skips(self) -> bool:
        """Whether the reader is inside something that is nested too deeply, which is told already."""
        return self._too_deep > 0

    def documents(self) -> Iterator[tuple[Node, JsonValue, tuple[Refused, ...]]]:
        """Yield the documents that hold something, each as its node, its data and what of it is refused."""
        next_event = self._parser.get_event
        try:
            while (event := next_event()) is not None:
                if type(event) is DocumentStartEvent:
                    self._start_document()
                elif type(event) is DocumentEndEvent:
                    root = self._root
                    if root is not None and not _is_empty(root):
                        yield root, self._data_of(root), tuple(self.refused)
                else:
                    self._take(event)
                self.last_event = event
        finally:
            self._parser.dispose()

    def _start_document(self) -> None:
        self._anchors = {}
        self._aliased = 0
        self._too_deep = 0
        self._root = None
        self.refused = []
        self.open_nodes = []

    def _take(self, event: Event) -> None:
        kind = type(event)
        if self._too_deep:
            self._skip(kind)
        elif kind is ScalarEvent:
            self._scalar(event)  # type: ignore[arg-type]  # `kind is` does not narrow `event`
        elif kind is MappingStartEvent:
            self._open(MapNode(event), event)  # type: ignore[arg-type]
        elif kind is SequenceStartEvent:
            self._open(SeqNode(event), event)  # type: ignore[arg-type]
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._close(event)
        elif kind is AliasEvent:
            self._alias(event)  # type: ignore[arg-type]

    def _skip(self, kind: type[Event]) -> None:
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            self._too_deep += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._too_deep -= 1

    def _scalar(self, event: ScalarEvent) -> None:
        if event.anchor is not None or event.tag is not None:
            self._note_properties(event, event)
        if self._stand_ins:
            self._restore_breaks(event)
        top = self.open_nodes[-1] if self.open_nodes else None
        if type(top) is MapNode and not top.expects_value:
            self._key(top, event, event.value, plain=not event.style)
        else:
            self._attach(event, event.value if event.style else self._plain(event))

    def _plain(self, event: ScalarEvent) -> JsonValue:
        try:
            return plain_value(event.value)
        except ScalarError as error:
            place = range_of_event(event)
            if all(problem.range != place for problem in self._problems):  # an alias means it again
                self._problem("TV001", str(error), error.hint, place)
            self._refuse(place)
            return event.value

    def _restore_breaks(self, event: ScalarEvent) -> None:
        found = [character for stand_in, character in self._stand_ins.items() if stand_in in event.value]
        if not found:
            return
        event.value = event.value.translate(self._restore)
        if not event.style:
            place = range_of_event(event)
            if place.start.line == place.end.line:
                place = Range.at(place.start.line, place.start.column + event.value.index(found[0]))
            message = f"unquoted text holds the invisible line break U+{ord(found[0]):04X}"
            self._problem("TV003", message, "delete it, or quote the text", place)
            self._refuse(range_of_event(event))

    def _key(self, parent: MapNode, event: KeyEvent, text: str, *, plain: bool) -> None:
        parent.expects_value = True
        parent.pending, parent.pending_key = event, text
        if plain and text == "<<":
            if parent.merge_key is not None:
                self._repeated("<<", event, parent.merge_key)
            return
        if plain:
            self._note_odd_key(event, text)
        first = parent.entries.get(text)
        if first is not None:
            self._repeated(text, event, first[0])

    def _repeated(self, key: str, event: KeyEvent, first: KeyEvent) -> None:
        place = range_of_event(first)
        self._problem(
            "TV002",
            f"the key {key!r} is given twice; it stands first at line {place.start.line}, column {place.start.column}",
            "merge both into one list after a single `<<`" if key == "<<" else "keep one of the two",
            range_of_event(event),
            other=place,
        )

    def _note_odd_key(self, event: KeyEvent, text: str) -> None:
        if not text:
            self._problem("TV001", "an entry has no key before its ':'", "write the key", range_of_event(event))
            return
        try:
            odd = not isinstance(plain_value(text), str)
        except ScalarError:
            odd = True
        if odd:
            self._problem(
                "TV004",
                f"the key {text} is taken as the text {text!r}",
                f'other tools do not read it as text; write "{text}"',
                range_of_event(event),
            )

    def _attach(self, node: Node, value: JsonValue) -> None:
        if not self.open_nodes:
            self._root = node
            return
        parent = self.open_nodes[-1]
        if type(parent) is SeqNode:
            parent.items.append(node)
            parent.data.append(value)
        elif type(parent) is MapNode:
            parent.expects_value = False
            event, key = parent.pending, parent.pending_key
            if event is None or key is None:
                return
            if key == "<<" and isinstance(event, ScalarEvent) and not event.style:
                if parent.merge_key is None:
                    parent.merge_key, parent.merges = event, node
            elif key not in parent.entries:
                parent.entries[key] = (event, node)
                parent.data[key] = value

    def _open(self, node: MapNode | SeqNode, event: CollectionStartEvent) -> None:
        if event.anchor is not None or event.tag is not None:
            self._note_properties(event, node)
        top = self.open_nodes[-1] if self.open_nodes else None
        if type(top) is MapNode and not top.expects_value:
            self._refuse_collection_key(top, event)
        if len(self.open_nodes) < MAX_DEPTH:
            self.open_nodes.append(node)
            return
        self._too_deep = 1
        self._problem(
            "TV003",
            f"the text is nested deeper than {MAX_DEPTH} levels",
            "check for brackets or indentation that repeat by mistake",
            _opening(event),
        )
        self._refuse(_opening(event))
        self._complete(_null_at(event), None)

    def _refuse_collection_key(self, parent: MapNode, event: CollectionStartEvent) -> None:
        kind = "a mapping" if type(event) is MappingStartEvent else "a list"
        if event.flow_style and kind == "a mapping" and _touch(parent.event, event):
            message, hint = "`{{` starts a mapping here, not a template", 'quote the template: "{{ … }}"'
            start = start_of(parent.event)
            self._problem("TV001", message, hint, Range.at(start.line, start.column, 2))
        else:
            self._problem("TV001", f"{kind} cannot be a key; keys are text", "write a text key", _opening(event))

    def _close(self, event: Event) -> None:
        node = self.open_nodes.pop()
        node.closed = True
        if event.end_mark is not None:
            node.end = Position(event.end_mark.line + 1, event.end_mark.column + 1)
        if type(node) is MapNode and node.merges is not None:
            self._merge(node, node.merges)
        self._complete(node, node.data)

    def _complete(self, node: Node, value: JsonValue) -> None:
        top = self.open_nodes[-1] if self.open_nodes else None
        if type(top) is MapNode and not top.expects_value:
            # A collection as a key was refused when it began; the value that follows belongs to nothing.
            top.expects_value = True
            top.pending, top.pending_key = None, None
        else:
            self._attach(node, value)

    def _merge(self, target: MapNode, merges: Node) -> None:
        sources = merges.items if isinstance(merges, SeqNode) else [merges]
        for source in sources:
            if isinstance(source, ScalarEvent) and source.tag == _REFUSED:
                continue
            if not isinstance(source, MapNode):
                place = range_of_event(target.merge_key) if target.merge_key is not None else range_of(target)
                self._problem(
                    "TV001", "`<<` merges mappings, and this is none", "quote the key, or name a mapping", place
                )
                continue
            for key, entry in source.entries.items():
                if key not in target.entries:
                    target.entries[key] = entry
                    target.data[key] = source.data[key]

    def _alias(self, event: AliasEvent) -> None:
        node = self._resolve(event)
        top = self.open_nodes[-1] if self.open_nodes else None
        if type(top) is MapNode and not top.expects_value:
            if node is not None and not isinstance(node, ScalarEvent):
                self._problem(
                    "TV001", "an alias used as a key must name text", "write a text key", range_of_event(event)
                )
            self._key(top, event, node.value if isinstance(node, ScalarEvent) else f"*{event.anchor}", plain=False)
        elif node is None:
            self._refuse(range_of_event(event))
            self._attach(_null_at(event), None)
        else:
            self._attach(node, self._data_of(node))

    def _resolve(self, event: AliasEvent) -> Node | None:
        place = range_of_event(event)
        node = self._anchors.get(event.anchor or "")
        if node is None:
            message = f"the alias *{event.anchor} names no anchor above it"
            self._problem("TV001", message, f'quote it if it is text: "*{event.anchor}"', place)
            return None
        if not isinstance(node, ScalarEvent) and not node.closed:
            message = f"the anchor &{event.anchor} contains itself"
            self._problem("TV003", message, "write the inner value out", place, other=_opening(node.event))
            return None
        size = size_of(node)
        if len(self.open_nodes) + size.height > MAX_DEPTH:
            message = f"with the alias *{event.anchor} the text is nested deeper than {MAX_DEPTH} levels"
            self._problem("TV003", message, "aliases of aliases add up; write the values out", place)
            return None
        told = self._aliased > MAX_ALIASED
        self._aliased += size.weight
        if told:
            return None
        if self._aliased > MAX_ALIASED:
            message = f"the aliases of this document, written out, add more than {MAX_ALIASED // 1024} KiB"
            self._problem("TV003", message, "aliases of aliases multiply; write the values out", place)
            return None
        return node

    def _data_of(self, node: Node) -> JsonValue:
        if isinstance(node, ScalarEvent):
            return node.value if node.style else self._plain(node)
        return node.data

    def _note_properties(self, event: ScalarEvent | CollectionStartEvent, node: Node) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!", 1)
            start = start_of(event)
            self._problem(
                "TV003",
                f"the tag {tag!r} is not allowed; values are plain data",
                "leave the tag out; quote a value that is meant as text",
                Range(
                    start,
                    range_of_event(event).end
                    if isinstance(event, ScalarEvent)
                    else start._replace(column=start.column + 1),
                ),
            )
            self._refuse(Range(start, start))

    def _problem(self, code: ProblemCode, message: str, hint: str, place: Range, *, other: Range | None = None) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            problem = SourceProblem(code=code, message=message, hint=hint, range=place, path=self._path(), other=other)
            self._problems.append(problem)
        elif len(self._problems) == MAX_PROBLEMS:
            message = f"the file has more than {MAX_PROBLEMS} such problems; the rest is not listed"
            self._problems.append(SourceProblem(code="TV001", message=message, hint="mend these first", range=place))

    def _refuse(self, place: Range) -> None:
        """Note that the value which is read now was told; what lacks a merge lacks any of its fields."""
        top = self.open_nodes[-1] if self.open_nodes else None
        if isinstance(top, MapNode) and not top.expects_value:
            return
        path = self._path()
        if path and path[-1] == "<<" and isinstance(top, MapNode):
            self.refused.append(Refused(path[:-1], Position(1, 1)))
        else:
            self.refused.append(Refused(path, place.start))

    def _path(self) -> KeyPath:
        path: list[str | int] = []
        for node in self.open_nodes:
            if isinstance(node, SeqNode):
                path.append(len(node.items))
            elif node.expects_value and node.pending_key is not None:
                path.append(node.pending_key)
        return tuple(path)


def _is_empty(root: Node) -> bool:
    return isinstance(root, ScalarEvent) and not root.style and not root.value


def _opening(event: CollectionStartEvent) -> Range:
    start = start_of(event)
    return Range.at(start.line, start.column)


def _touch(outer: CollectionStartEvent, inner: CollectionStartEvent) -> bool:
    end, start = outer.end_mark, inner.start_mark
    if not outer.flow_style or end is None or start is None:
        return False
    return (end.line, end.column) == (start.line, start.column)


def _null_at(event: AliasEvent | CollectionStartEvent) -> ScalarEvent:
    stand_in = ScalarEvent(None, _REFUSED, (True, False), "")
    stand_in.start_mark, stand_in.end_mark = event.start_mark, event.end_mark
    return stand_in
