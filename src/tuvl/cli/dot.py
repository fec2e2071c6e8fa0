"""A workflow's picture in the language of Graphviz."""

from tuvl.analysis.picture import Arrow, Node, Picture

# Shape and styles of a node, by step kind; other kinds are plain boxes.
_SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Agent": ("box", ("rounded",)),
    "Router": ("diamond", ()),
    "APICall": ("component", ()),
    "MCP": ("component", ()),
    "HumanInTheLoop": ("parallelogram", ()),
}
_BOX: tuple[str, tuple[str, ...]] = ("box", ())
_NEW_LINE = "\\n"


def dot(picture: Picture) -> str:
    """Write a picture as a directed graph; `dot -Tsvg` draws it."""
    lines = [
        f"digraph {_quote(picture.title)} {{",
        "  rankdir=TB",
        '  node [fontname="sans-serif", shape=box]',
        '  edge [fontname="sans-serif", fontsize=10]',
    ]
    lines += [f"  {_node(node)}" for node in picture.nodes]
    lines += [f"  {_arrow(arrow)}" for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _node(node: Node) -> str:
    match node.shape:
        case "start":
            return f'{node.key} [shape=point, width=0.15, xlabel="start"]'
        case "end":
            return f'{node.key} [shape=doublecircle, width=0.2, label="", xlabel="end"]'
        case "missing":
            return f'{node.key} [label={_quote(node.label, "not there")}, color="#cc0000", fontcolor="#cc0000"]'
        case "step":
            shape, styles = _SHAPES.get(node.kind.partition(",")[0], _BOX)
            drawn = [*styles, "dashed"] if node.off_spine else styles
            style = f', style="{",".join(drawn)}"' if drawn else ""
            return f"{node.key} [shape={shape}{style}, label={_quote(node.label, node.kind)}]"


def _arrow(arrow: Arrow) -> str:
    attributes = [f"label={_quote(*arrow.labels)}"] if arrow.labels else []
    if arrow.style == "reference":
        attributes.append("style=dashed")
    listed = f" [{', '.join(attributes)}]" if attributes else ""
    return f"{arrow.source} -> {arrow.target}{listed}"


def _quote(*lines: str) -> str:
    escaped = (" ".join(line.split()).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{_NEW_LINE.join(escaped)}"'
