"""Dot paths: `order.items.0.price`, a name or an index a segment."""

import re

from tuvl.dataclass import dataclass

_INDEXED = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class PathProblem:
    """What is wrong with a dot path, and how it would be right."""

    message: str
    hint: str | None = None


def dot_path_problem(text: str) -> PathProblem | None:
    """Say what is wrong with a dot path; `None` when it is one."""
    if "{{" in text:
        return PathProblem("a template is not a path", "write the bare path, e.g. `order.total`")
    if text.startswith("$"):
        return PathProblem("JSONPath is not used here", f"write {_plain(text)!r}")
    if "[" in text or "]" in text:
        plain = _plain(text)
        return PathProblem("an index is a segment of its own", f"write {plain!r}" if "[" not in plain else None)
    if any(not segment or segment != segment.strip() for segment in text.split(".")):
        return PathProblem("a segment is empty or has spaces around it", "segments are joined by single dots")
    return None


def _plain(text: str) -> str:
    return _INDEXED.sub(r".\1", text).lstrip("$").lstrip(".")
