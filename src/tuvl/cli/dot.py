"""A workflow's picture in the language of Graphviz."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.picture import Arrow, Node, Picture
from tuvl.check.finding import Severity
from tuvl.drawing.notes import NO_NOTES, Note
from tuvl.values import printable

# Shape and styles of a node, by step kind; other kinds are plain boxes.
_SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Agent": ("box", ("rounded",)),
    "Router": ("hexagon", ()),
    "APICall": ("component", ()),
    "MCP": ("component", ()),
    "ModelOp": ("cylinder", ()),
    "HumanInTheLoop": ("parallelogram", ()),
    "Response": ("box", ("rounded",)),
    "Workflow": ("box3d", ()),
    "ForEach": ("folder", ()),
}
_BOX: tuple[str, tuple[str, ...]] = ("box", ())
_COLOURS = {Severity.ERROR: "#b91c1c", Severity.WARNING: "#b45309", Severity.NOTE: "#0369a1"}
_NEW_LINE = "\\n"


def dot(picture: Picture, notes: Mapping[str, Note] = NO_NOTES) -> str:
    """Write a picture as a directed graph; `dot -Tsvg` draws it. `notes` are lines for its boxes, by node."""
    lines = [
        f"digraph {_quote(picture.title)} {{",
        "  rankdir=TB",
        '  node [fontname="sans-serif", shape=box]',
        '  edge [fontname="sans-serif", fontsize=10]',
    ]
    lines += _grouped(picture, notes)
    lines += [f"  {_arrow(arrow)}" for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _grouped(picture: Picture, notes: Mapping[str, Note]) -> Iterator[str]:
    held: dict[str, list[Node]] = {}
    for node in picture.nodes:
        if node.group:
            held.setdefault(node.group, []).append(node)
        else:
            yield f"  {_node(node, notes)}"
    names = {node.key: node.label for node in picture.nodes}
    for owner, nodes in held.items():
        yield f"  subgraph cluster_{owner} {{"
        # Statements of their own: DOT takes commas in brackets alone.
        yield f"    label={_quote(f'at the side of {names[owner]}')}"
        yield '    color="#cbd5e1"'
        yield from (f"    {_node(node, notes)}" for node in nodes)
        yield "  }"


def _node(node: Node, notes: Mapping[str, Note]) -> str:
    match node.shape:
        case "start":
            return f'{node.key} [shape=point, width=0.15, xlabel="start"]'
        case "end":
            return f'{node.key} [shape=doublecircle, width=0.2, label="", xlabel={_quote(node.label)}]'
        case "missing":
            return f'{node.key} [label={_quote(node.label, "not there")}, color="#cc0000", fontcolor="#cc0000"]'
        case "step":
            return _step(node, notes.get(node.key, Note()))


def _step(node: Node, note: Note) -> str:
    shape, styles = _SHAPES.get(node.kind.partition(",")[0], _BOX)
    drawn = [*styles, "dashed"] if node.off_spine else styles
    style = f', style="{",".join(drawn)}"' if drawn else ""
    marked = f', color="{_COLOURS[note.worst]}", penwidth=3' if note.worst is not None else ""
    return f"{node.key} [shape={shape}{style}, label={_quote(node.label, node.kind, *note.lines)}{marked}]"


def _arrow(arrow: Arrow) -> str:
    attributes = [f"label={_quote(*arrow.labels)}"] if arrow.labels else []
    if arrow.style == "reference":
        attributes.append("style=dashed")
    elif arrow.style == "fault":
        attributes.append('style=dotted, color="#b91c1c", fontcolor="#b91c1c"')
    elif arrow.failing:
        attributes.append('style=dashed, color="#9aa4b2", fontcolor="#64748b"')
    listed = f" [{', '.join(attributes)}]" if attributes else ""
    return f"{arrow.source} -> {arrow.target}{listed}"


def _quote(*lines: str) -> str:
    escaped = (printable(" ".join(line.split())).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{_NEW_LINE.join(escaped)}"'
