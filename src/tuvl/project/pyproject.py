"""`[tool.tuvl]` of `pyproject.toml`: settings of the checks, for projects that keep those of all tools there."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.loading import display_name, read_file
from tuvl.source.decode import split_lines
from tuvl.source.place import Range

FILE = "pyproject.toml"
TABLE = "tool.tuvl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable:
    """What the table says."""

    file: str
    """How messages call the file."""
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None
    """Why the file cannot be read, if so; the table is then unknown."""

    def locate(self, key: str) -> Range:
        """Find the line that sets a key; the table's own head, else the first character, when there is none."""
        for pattern in (
            rf"\s*(['\"]?{re.escape(key)}['\"]?)\s*=",
            rf".*?({re.escape(key)})",
            r"\s*(\[tool\.tuvl\b.*\])",
        ):
            for number, line in enumerate(split_lines(self.text), start=1):
                found = re.match(pattern, line)
                if found is not None:
                    return Range.at(number, found.start(1) + 1, len(found[1]))
        return Range.at(1, 1)


def read_tool_table(root: Path) -> ToolTable | None:
    """Read the table of the file in the project's root; `None` where the file has none, or there is no file."""
    path = root / FILE
    if not os.path.lexists(path):
        return None
    file = display_name(path)
    try:
        raw = read_file(path)
    except UsageError as error:
        return ToolTable(file=file, problem=str(error))
    if b"tuvl" not in raw:
        return None
    import tomllib  # only where the file may hold the table

    try:
        text = raw.decode("utf-8")
        data = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return ToolTable(file=file, problem=f"it is no TOML: {error}")
    tool = data.get("tool")
    table = tool.get("tuvl") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        return ToolTable(file=file, text=text, problem=f"`{TABLE}` is no table")
    return ToolTable(file=file, text=text, data=table)


def severities(table: ToolTable | None) -> Iterator[tuple[str, object]]:
    """Yield the codes and what they are set to, as they are written."""
    chosen = table.data.get("severity") if table is not None else None
    if isinstance(chosen, dict):
        yield from chosen.items()
