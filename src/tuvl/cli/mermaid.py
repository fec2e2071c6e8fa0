"""A workflow's picture as Mermaid text, which GitHub, GitLab and most wikis draw."""

import json

from tuvl.analysis.picture import Arrow, Node, Picture

# Opening and closing brackets of a node, by step kind; other kinds are plain boxes.
_BRACKETS = {
    "Agent": ("([", "])"),
    "Router": ("{", "}"),
    "APICall": ("[[", "]]"),
    "MCP": ("[[", "]]"),
    "HumanInTheLoop": ("[/", "/]"),
    "Response": ("[", "]"),
}
_BOX = ("[", "]")
_ESCAPES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "|": "#124;"}
_STYLES = (
    "classDef aside stroke-dasharray: 4 3",
    "classDef missing stroke:#c00,color:#c00,stroke-dasharray: 2 2",
)


def mermaid(picture: Picture) -> str:
    """Write a picture as a Mermaid flowchart."""
    lines = ["---", f"title: {json.dumps(picture.title)}", "---", "flowchart TD"]
    lines += [f"  {_node(node)}" for node in picture.nodes]
    lines += [f"  {_arrow(arrow)}" for arrow in picture.arrows]
    lines += [f"  {style}" for style in _STYLES]
    aside = [node.key for node in picture.nodes if node.off_spine]
    missing = [node.key for node in picture.nodes if node.shape == "missing"]
    lines += [f"  class {','.join(keys)} {name}" for name, keys in (("aside", aside), ("missing", missing)) if keys]
    return "\n".join(lines) + "\n"


def _node(node: Node) -> str:
    match node.shape:
        case "start" | "end":
            return f'{node.key}(("{node.label}"))'
        case "missing":
            return f'{node.key}["{_escape(node.label)}<br/>not there"]'
        case "step":
            opening, closing = _BRACKETS.get(node.kind.partition(",")[0], _BOX)
            return f'{node.key}{opening}"{_escape(node.label)}<br/>{_escape(node.kind)}"{closing}'


def _arrow(arrow: Arrow) -> str:
    named = "<br/>".join(_escape(label) for label in arrow.labels)
    label = f'|"{named}"|' if named else ""
    line = "-.->" if arrow.style == "reference" else "-->"
    return f"{arrow.source} {line}{label} {arrow.target}"


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in " ".join(text.split()))
