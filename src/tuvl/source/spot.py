"""What stands at a position of a document: the inverse of `Document.locate`."""

from tuvl.dataclass import dataclass
from tuvl.source.document import Document
from tuvl.source.nodes import MapNode, Node, SeqNode, range_of, range_of_event, start_of
from tuvl.source.place import Position, Range
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class Spot:
    """A key or a value; of a mapping or list, where neither is, the mapping or list itself."""

    path: KeyPath
    on_key: bool
    place: Range
    is_scalar: bool


def spot_at(document: Document, position: Position) -> Spot | None:
    """Find what stands at a position; `None` outside of the document's text."""
    node = document.root
    path: KeyPath = ()
    spot: Spot | None = None
    while True:
        place = range_of(node)
        if not place.start <= position <= place.end:
            return spot
        if not isinstance(node, MapNode | SeqNode):
            return Spot(path, on_key=False, place=place, is_scalar=True)
        spot = Spot(path, on_key=False, place=place, is_scalar=False)
        if isinstance(node, MapNode):
            for name, (key, _) in node.entries.items():
                at = range_of_event(key)
                if at.start <= position <= at.end:
                    return Spot((*path, name), on_key=True, place=at, is_scalar=True)
        below = _below(node, position)
        if below is None:
            return spot
        part, node = below
        path = (*path, part)


def _below(node: MapNode | SeqNode, position: Position) -> tuple[str | int, Node] | None:
    """The child that begins last before a position."""
    children: list[tuple[str | int, Node]] = []
    if isinstance(node, MapNode):
        children = [(name, child) for name, (_, child) in node.entries.items()]
    else:
        children = list(enumerate(node.items))
    before = [(_start(child), index) for index, (_, child) in enumerate(children) if _start(child) <= position]
    return children[max(before)[1]] if before else None


def _start(node: Node) -> Position:
    return start_of(node.event if isinstance(node, MapNode | SeqNode) else node)
