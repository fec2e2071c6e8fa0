"""A text that is broken while someone types: as much of it as can be read, every line still in its place."""

from pathlib import Path

from tuvl.project.layout import is_prose
from tuvl.project.loading import LoadedFile, parse_markdown, parse_yaml
from tuvl.source.decode import MAX_BYTES, split_lines
from tuvl.source.place import SourceProblem

MOST_ROUNDS = 12
"""Lines that are taken out of a text before it is given up."""


def parse(path: Path, text: str) -> LoadedFile:
    """Parse a text as the file it is of."""
    raw = text.encode("utf-8", "surrogatepass")
    return parse_markdown(path, raw) if is_prose(path) else parse_yaml(path, raw)


def readable(path: Path, loaded: LoadedFile, *, keep: int | None = None) -> LoadedFile | None:
    """Parse what is left of a file without the lines that keep its documents from being read.

    Such lines are emptied, so that all others stay where they are. `None` when nothing helps, or when the line that is
    to be kept is the one to blame.
    """
    lines = split_lines(loaded.text)
    if loaded.size > MAX_BYTES:
        return None
    for _ in range(MOST_ROUNDS):
        problem = lost_document(loaded)
        if problem is None:
            return loaded
        number = _to_blame(problem, lines)
        if number is None or number == keep:
            return None
        lines[number - 1] = ""
        loaded = parse(path, "\n".join(lines))
    return None


def lost_document(loaded: LoadedFile) -> SourceProblem | None:
    """The first problem of a file for which a document of it could not be read."""
    if not loaded.problems:
        return None
    if loaded.prose is not None:
        return next((problem for problem in loaded.problems if loaded.prose.document is None), None)
    marks = [number for number, line in enumerate(split_lines(loaded.text), 1) if line.startswith("---")]
    there = {_part(document.locate(()).start.line, marks) for document in loaded.documents}
    lost = (problem for problem in loaded.problems if problem.code in ("TV001", "TV003"))
    return next((problem for problem in lost if _part(problem.range.start.line, marks) not in there), None)


def _part(line: int, marks: list[int]) -> int:
    return sum(mark <= line for mark in marks)


def _to_blame(problem: SourceProblem, lines: list[str]) -> int | None:
    """The line to empty: the one the problem points at, else the other one that it names."""
    places = [problem.range] if problem.other is None else [problem.range, problem.other]
    for place in places:
        number = place.start.line
        if number <= len(lines) and lines[number - 1].strip() and not lines[number - 1].startswith("---"):
            return number
    return None
