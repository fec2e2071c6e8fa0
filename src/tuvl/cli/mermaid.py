"""A workflow's picture as Mermaid text, which GitHub, GitLab and most wikis draw."""

import json
import re
from collections.abc import Iterator, Mapping

from tuvl.analysis.picture import Arrow, Node, Picture
from tuvl.drawing.notes import NO_NOTES, Note
from tuvl.values import printable

# Opening and closing brackets of a node, by step kind; other kinds are plain boxes.
_BRACKETS = {
    "Agent": ("([", "])"),
    "Router": ("{{", "}}"),
    "APICall": ("[[", "]]"),
    "MCP": ("[[", "]]"),
    "ModelOp": ("[(", ")]"),
    "HumanInTheLoop": ("[/", "/]"),
    "Workflow": ("[[", "]]"),
    "Response": ("(", ")"),
}
_BOX = ("[", "]")
# What Mermaid reads as markup, as a directive or as a formula even inside of quotes.
_ESCAPES = {each: f"#{ord(each)};" for each in '#"<>&`\\|{}*~$%@'}
_BLOCK = re.compile(r"[^\w]|\d+[.)]")
"""Beginnings that would make a list, a heading or a rule of a label."""
_EMPHASIS = re.compile(r"_(?![A-Za-z0-9])|(?<![A-Za-z0-9;])_")
"""Underscores that are not inside of a word."""
_STYLES = (
    "classDef aside stroke-dasharray: 4 3",
    "classDef missing stroke:#c00,color:#c00,stroke-dasharray: 2 2",
    "classDef error stroke:#b91c1c,stroke-width:4px",
    "classDef warning stroke:#b45309,stroke-width:3px",
    "classDef note stroke:#0369a1,stroke-width:3px",
)


def mermaid(picture: Picture, notes: Mapping[str, Note] = NO_NOTES) -> str:
    """Write a picture as a Mermaid flowchart; `notes` are lines for the boxes of its steps, by the key of the node."""
    lines = ["---", f"title: {json.dumps(_title(picture.title))}", "---", "flowchart TD"]
    lines += _grouped(picture, notes)
    lines += [f"  {_arrow(arrow)}" for arrow in picture.arrows]
    lines += [f"  {style}" for style in _STYLES]
    lines += _classes(picture, notes)
    return "\n".join(lines) + "\n"


def _grouped(picture: Picture, notes: Mapping[str, Note]) -> Iterator[str]:
    """The nodes; what a step has at its side is framed together, where it is first met."""
    held: dict[str, list[Node]] = {}
    for node in picture.nodes:
        if node.group:
            held.setdefault(node.group, []).append(node)
    for node in picture.nodes:
        if node.group:
            continue
        yield f"  {_node(node, notes)}"
    names = {node.key: node.label for node in picture.nodes}
    for owner, nodes in held.items():
        yield f'  subgraph of_{owner}["at the side of {_escape(names[owner])}"]'
        yield from (f"    {_node(node, notes)}" for node in nodes)
        yield "  end"


def _classes(picture: Picture, notes: Mapping[str, Note]) -> Iterator[str]:
    looks: dict[str, list[str]] = {}
    for node in picture.nodes:
        worst = notes[node.key].worst if node.key in notes else None
        if node.off_spine:
            looks.setdefault("aside", []).append(node.key)
        if node.shape == "missing":
            looks.setdefault("missing", []).append(node.key)
        if worst is not None:
            looks.setdefault(worst.value, []).append(node.key)
    for name, keys in sorted(looks.items()):
        yield f"  class {','.join(keys)} {name}"
    for name, found in (
        (
            "stroke:#9aa4b2,stroke-dasharray: 5 3",
            [arrow.failing and arrow.style == "route" for arrow in picture.arrows],
        ),
        ("stroke:#b91c1c,stroke-dasharray: 2 3", [arrow.style == "fault" for arrow in picture.arrows]),
    ):
        numbers = [str(number) for number, is_so in enumerate(found) if is_so]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} {name}"


def _node(node: Node, notes: Mapping[str, Note]) -> str:
    match node.shape:
        case "start" | "end":
            return f'{node.key}(("{node.label}"))'
        case "missing":
            return f'{node.key}["{_escape(node.label)}<br/>not there"]'
        case "step":
            opening, closing = _BRACKETS.get(node.kind.partition(",")[0], _BOX)
            more = notes[node.key].lines if node.key in notes else ()
            lines = "<br/>".join(map(_escape, (node.label, node.kind, *more)))
            return f'{node.key}{opening}"{lines}"{closing}'


def _arrow(arrow: Arrow) -> str:
    named = "<br/>".join(_escape(label) for label in arrow.labels)
    label = f'|"{named}"|' if named else ""
    line = "-.->" if arrow.style == "reference" else "-->"
    return f"{arrow.source} {line}{label} {arrow.target}"


def _title(text: str) -> str:
    return printable(" ".join(text.split()))


def _escape(text: str) -> str:
    # Two dollar signs would be a formula, escaped or not.
    plain = printable(" ".join(text.split())).replace("$$", "$ $").replace("$$", "$ $") or " "
    escaped = "".join(_ESCAPES.get(character, character) for character in plain)
    if _BLOCK.match(plain):
        escaped = f"#{ord(plain[0])};{escaped[1:]}" if plain[0] not in _ESCAPES else escaped
    return _EMPHASIS.sub("#95;", escaped)
