"""Prose files: YAML front matter between two `---` lines, then the body."""

from tuvl.dataclass import dataclass
from tuvl.source.decode import decode, split_lines
from tuvl.source.document import Document, parse_lines
from tuvl.source.place import Range, SourceProblem
from tuvl.source.suppression import Suppression


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseFile:
    """A prose file; `document` is its front matter, with the line numbers of the file, or `None` without one.

    `body` is all that follows the front matter, line breaks written as LF; it starts on line `body_line`.
    """

    file: str
    text: str
    document: Document | None
    body: str
    body_line: int
    problems: tuple[SourceProblem, ...]
    suppressions: tuple[Suppression, ...] = ()


def parse_prose(raw: bytes, *, file: str) -> ProseFile:
    """Parse a prose file. Never raises for bad input; a file without front matter is all body."""
    text, problem = decode(raw)
    lines = split_lines(text)
    if problem is not None or not _is_fence(lines[0]):
        problems = () if problem is None else (problem,)
        body = "\n".join(lines)
        return ProseFile(file=file, text=text, document=None, body=body, body_line=1, problems=problems)
    end = next((number for number, line in enumerate(lines) if number > 0 and _is_fence(line)), None)
    if end is None:
        unclosed = SourceProblem(
            code="TV001",
            message="the front matter that starts here is never closed",
            hint="end it with a line `---`",
            range=Range.at(1, 1, 3),
        )
        body = "\n".join(lines[1:])
        return ProseFile(file=file, text=text, document=None, body=body, body_line=2, problems=(unclosed,))
    # The empty line in place of the fence keeps the line numbers.
    matter = parse_lines("\n".join(["", *lines[1:end], ""]), file=file)
    return ProseFile(
        file=file,
        text=text,
        document=matter.documents[0] if matter.documents else None,
        body="\n".join(lines[end + 1 :]),
        body_line=end + 2,
        problems=matter.problems,
        suppressions=matter.suppressions,
    )


def _is_fence(line: str) -> bool:
    return line.rstrip() == "---"
