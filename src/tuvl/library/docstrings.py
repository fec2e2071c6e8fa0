"""What a docstring tells a model: the text before the sections, and one line for each argument.

Read are the Google style (`Args:`), the NumPy style (`Parameters` underlined) and Sphinx fields (`:param name:`).
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from tuvl.dataclass import dataclass

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Returns?|Raises|Yields?|Examples?|Notes?|Attributes|Warnings?|See Also):"
)
_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters", "Params"})
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)(?: *:.*)?")
_FIELD = re.compile(r":(?P<role>\w+)(?: +(?P<rest>[^:]*))?: *(?P<text>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a docstring says."""

    text: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Described:
    """Read a docstring; what follows none of the styles is all description."""
    lines = inspect.cleandoc(text or "").splitlines()
    prose: list[str] = []
    arguments: dict[str, list[str]] = {}
    section: str | None = None
    current: list[str] | None = None
    for line, title in _titled(lines):
        if title is not None:
            section, current = title, None
        elif sphinx := _FIELD.fullmatch(line):
            section = "Fields"
            named = (sphinx["rest"] or "").split()
            current = arguments.setdefault(named[-1], [sphinx["text"]]) if _is_param(sphinx["role"], named) else None
        elif section is None:
            prose.append(line)
        elif section == "Fields":
            _continue(current, line)
        elif section in _ARGUMENTS:
            current = _argument(line, arguments, current)
    return Described(
        text="\n".join(prose).strip(),
        arguments={name: " ".join(" ".join(said).split()) for name, said in arguments.items()},
    )


def _titled(lines: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each line with the section title it is, if any; the line under a NumPy title is left out."""
    skip = False
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if skip:
            skip = False
        elif found := _SECTION.fullmatch(line):
            yield line, found[1]
        elif line and re.fullmatch(r"-{3,}", following):
            skip = True
            yield line, line.strip()
        else:
            yield line, None


def _is_param(role: str, named: list[str]) -> bool:
    return role in {"param", "parameter", "arg", "argument", "key", "keyword"} and bool(named)


def _argument(line: str, arguments: dict[str, list[str]], current: list[str] | None) -> list[str] | None:
    """Take one line of a section of arguments; returns the argument that the next lines go on with."""
    text = line.strip()
    if line.startswith(" "):
        entry = _GOOGLE_ENTRY.fullmatch(text)
        deeper = current is not None and _indent(line) > _indent(current[0])
        if entry is None or deeper:
            _continue(current, line)
            return current
        said = arguments[entry["name"]] = [line[: _indent(line)], entry["text"]]
        return said
    numpy = _NUMPY_ENTRY.fullmatch(text) if text else None
    return arguments.setdefault(numpy["name"], [""]) if numpy else current


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _continue(current: list[str] | None, line: str) -> None:
    if current is not None:
        current.append(line.strip())
