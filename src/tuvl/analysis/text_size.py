"""How long a text can get that is rendered from the context."""

from collections.abc import Iterable

from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.value_sizes import Longest, Path, unknown_sizes
from tuvl.dataclass import dataclass
from tuvl.templating.budget import MAX_TEXT
from tuvl.templating.extent import extent
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.scan import scan

LONGEST_RENDERING = 4 * MAX_TEXT
"""Bytes that one rendering may give: its bound counts characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSize:
    """A text: bytes that stand in it, context paths put into it (`()`: all of it), texts with a bound of their own.

    Templates with more than dotted paths may repeat what they read; nothing but the bound of a rendering holds them.
    """

    literal: int = 0
    paths: tuple[Path, ...] = ()
    free: int = 0

    def __add__(self, other: "TextSize") -> "TextSize":
        """Both texts."""
        return TextSize(
            literal=self.literal + other.literal, paths=self.paths + other.paths, free=self.free + other.free
        )

    @property
    def copies(self) -> int:
        """How often one part of the context can stand in the text: a path holds all that lies below it."""
        counts: dict[Path, int] = {}
        for path in self.paths:
            counts[path] = counts.get(path, 0) + 1
        return max((sum(counts.get(path[:end], 0) for end in range(len(path) + 1)) for path in counts), default=0)

    def length(self, context_bytes: int, *, proof: bool, longest: Longest = unknown_sizes) -> int:
        """Bytes of the rendered text, when the context has so many; a proof counts what expressions may repeat, too.

        `longest` tells of values that cannot be as long as the context.
        """
        known = {path: longest(path) for path in self.paths}
        sizes = (known[path] for path in self.paths)
        shown = sum(min(size, context_bytes) for size in sizes if size is not None)
        rest = TextSize(paths=tuple(path for path in self.paths if known[path] is None))
        of_engine = self.free * LONGEST_RENDERING if proof else 0
        return self.literal + shown + rest.copies * context_bytes + of_engine


NO_TEXT = TextSize()


def prose_size(prose: object, project: Surroundings) -> TextSize:
    """The text at a prose site of an agent: inline, which is a template, or an artifact's, which may be one."""
    if not isinstance(prose, str):
        return NO_TEXT
    if not prose.startswith(ARTIFACT_SCHEME):
        return template_size(prose)
    artifact = project.resolve(prose)
    if artifact is None or artifact.body is None:
        return NO_TEXT
    return template_size(artifact.body) if artifact.template else TextSize(literal=size(artifact.body))


def prose_sizes(texts: Iterable[object], project: Surroundings) -> TextSize:
    """Several of them."""
    found = NO_TEXT
    for text in texts:
        found += prose_size(text, project)
    return found


def template_size(template: str) -> TextSize:
    """A text that is rendered."""
    if not is_template(template):
        return TextSize(literal=size(template))
    plain = plain_template(template)
    if plain is None:
        known = extent(template)
        if known is None:
            return TextSize(literal=size(template), paths=scan(template).paths, free=1)
        return TextSize(literal=known.literal, paths=known.paths, free=_of_the_engine(known.paths))
    paths = tuple(tuple(map(str, part)) for part in plain.parts if not isinstance(part, str))
    literal = sum(size(part) for part in plain.parts if isinstance(part, str))
    return TextSize(literal=literal, paths=paths, free=_of_the_engine(paths))


def _of_the_engine(paths: Iterable[Path]) -> int:
    """Whether keys of the engine are among them: those are not bounded with the public context."""
    return int(any(path[0].startswith("_") for path in paths))


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
