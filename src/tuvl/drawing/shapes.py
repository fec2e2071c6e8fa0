"""The outlines of boxes, a shape for each step kind; each stays within its rectangle."""

from tuvl.drawing.layout import Rect
from tuvl.drawing.text import number

CLASSES = {
    "Functional": "functional",
    "APICall": "api",
    "MCP": "mcp",
    "ModelOp": "data",
    "Router": "router",
    "Response": "response",
    "HumanInTheLoop": "human",
    "Agent": "agent",
    "Workflow": "workflow",
    "ForEach": "each",
}
_CUT = 12.0
_ROUND = 16.0


def class_of(kind: str) -> str:
    """The class of a step kind; `kind` may hold the mode of an agent."""
    return "k-" + CLASSES.get(kind.partition(",")[0], "unknown")


def outline(kind: str, at: Rect) -> str:
    """The outline of a step, with what belongs to its shape."""
    x, y, right, bottom = at.x, at.y, at.x + at.width, at.y + at.height
    match kind.partition(",")[0]:
        case "Agent":
            return _rounded(at, _ROUND)
        case "Router":
            middle = y + at.height / 2
            points = ((x, middle), (x + _CUT, y), (right - _CUT, y), (right, middle), (right - _CUT, bottom))
            return _polygon(*points, (x + _CUT, bottom))
        case "HumanInTheLoop":
            return _polygon(
                (x + _CUT, y), (right, y), (right, bottom - _CUT), (right - _CUT, bottom), (x, bottom), (x, y + _CUT)
            )
        case "Response":
            return _rounded(at, min(at.height / 2, 26.0))
        case "Workflow":
            return _rounded(at, 3.0) + _strokes((x + 6, y, bottom), (right - 6, y, bottom))
        case "ForEach":
            behind = Rect(x=at.x + 6, y=at.y, width=at.width - 6, height=at.height - 6)
            front = Rect(x=at.x, y=at.y + 5, width=at.width - 6, height=at.height - 5)
            return _rounded(behind, 6.0) + _rounded(front, 6.0)
        case "APICall" | "MCP" | "ModelOp":
            return _rounded(at, 5.0) + _strokes((x + 6, y, bottom))
        case _:
            return _rounded(at, 7.0)


def _rounded(at: Rect, radius: float) -> str:
    return (
        f'<rect class="box" x="{number(at.x)}" y="{number(at.y)}" width="{number(at.width)}" '
        f'height="{number(at.height)}" rx="{number(radius)}"/>'
    )


def _polygon(*points: tuple[float, float]) -> str:
    listed = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polygon class="box" points="{listed}"/>'


def _strokes(*lines: tuple[float, float, float]) -> str:
    ways = "".join(f"M{number(x)} {number(top)}V{number(bottom)}" for x, top, bottom in lines)
    return f'<path class="bar" d="{ways}"/>'
