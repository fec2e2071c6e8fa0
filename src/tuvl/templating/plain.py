"""The templates nearly everyone writes: text with `{{ dotted.path }}` in it. They need no template engine."""

import re
from functools import lru_cache
from typing import TypeAlias

from tuvl.dataclass import dataclass

Path: TypeAlias = tuple[str | int, ...]
"""The segments of a dotted path; a whole number indexes a list."""

_OPENING = re.compile(r"\{[{%#]")
_EXPRESSION = re.compile(
    r"\{\{[ \t\n]*"
    r"([A-Za-z_][A-Za-z0-9_]*(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|0|[1-9][0-9]{0,8}))*)"
    r"[ \t\n]*\}\}"
)
_WORDS_OF_JINJA = frozenset(
    ["true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else"]
)


@dataclass(frozen=True, slots=True)
class PlainTemplate:
    """Literal pieces and paths, in order."""

    parts: tuple[str | Path, ...]

    @property
    def single(self) -> Path | None:
        """The path, when the text is one expression and nothing else."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, tuple) else None


def is_template(text: str) -> bool:
    """Whether a text is a template at all: it holds `{{` or `{%`."""
    return "{{" in text or "{%" in text


def normal(text: str) -> str:
    """Write the line breaks of a template as LF, as the template language does."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


@lru_cache(maxsize=4096)
def plain_template(text: str) -> PlainTemplate | None:
    """Take a template apart; `None` when it holds more than dotted paths, or is broken."""
    text = normal(text)
    parts: list[str | Path] = []
    done = 0
    while (opening := _OPENING.search(text, done)) is not None:
        found = _EXPRESSION.match(text, opening.start())
        path = _path(found[1]) if found is not None else None
        if found is None or path is None:
            return None
        if opening.start() > done:
            parts.append(text[done : opening.start()])
        parts.append(path)
        done = found.end()
    if done < len(text) or not parts:
        parts.append(text[done:])
    return PlainTemplate(tuple(parts))


def _path(text: str) -> Path | None:
    first, *rest = text.split(".")
    if first in _WORDS_OF_JINJA or any(segment.startswith("__") for segment in rest):
        return None
    return (first, *(int(segment) if segment[0].isdigit() else segment for segment in rest))
