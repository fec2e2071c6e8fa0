"""A text → its documents: plain data, and on request the place of every key and value. Never raises for bad input."""

from collections.abc import Iterator
from functools import cached_property

from yaml.error import MarkedYAMLError, YAMLError

from tuvl.dataclass import dataclass
from tuvl.source.compose import Composer, Refused
from tuvl.source.decode import decode, forbidden_character, hide_invisible_breaks, split_lines
from tuvl.source.nodes import Node, ambiguous_scalars, locate, range_of_event
from tuvl.source.place import Position, Range, SourceProblem
from tuvl.source.scalars import ScalarError, plain_value
from tuvl.source.suppression import Suppression, suppressions
from tuvl.source.syntax import syntax_problem
from tuvl.values import JsonValue, KeyPath, dump_json

__all__ = [
    "AmbiguousScalar",
    "Document",
    "Position",
    "Range",
    "SourceFile",
    "SourceProblem",
    "Suppression",
    "parse_text",
]

MAX_BROKEN_DOCUMENTS = 20
"""Broken documents of one file after which the rest of it is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbiguousScalar:
    """A plain value other YAML tools read differently: `here` says what it is to us, `elsewhere` what to them."""

    path: KeyPath
    text: str
    here: str
    elsewhere: str
    range: Range


@dataclass(frozen=True)
class Document:
    """One document of a file. `data` is shared where the text used aliases: read it, never change it."""

    file: str
    """The path to show."""
    index: int
    """Its number in the file, from 0."""
    data: JsonValue
    root: Node
    """The tree that knows the places; use `locate`."""
    refused: tuple[Refused, ...] = ()
    """Values of which the file's problems tell already, so that no check need judge what stands in for them."""

    @property
    def kind(self) -> str | None:
        """The document's `kind:`, when it is text."""
        kind = self.data.get("kind") if isinstance(self.data, dict) else None
        return kind if isinstance(kind, str) else None

    def locate(self, path: KeyPath, *, key: bool = False) -> Range:
        """Find where a key path stands, or its nearest ancestor that exists; with `key` the key, not its value.

        What came through an alias or a `<<` merge stands where its text is.
        """
        return locate(self.root, path, key=key)

    @cached_property
    def ambiguous(self) -> tuple[AmbiguousScalar, ...]:
        """The plain values that YAML 1.1 tools read differently, in file order; keys are not among them."""
        return tuple(
            AmbiguousScalar(
                path=path,
                text=event.value,
                here=_reading(event.value),
                elsewhere=elsewhere,
                range=range_of_event(event),
            )
            for path, event, elsewhere in ambiguous_scalars(self.root)
        )


def _reading(text: str) -> str:
    try:
        value = plain_value(text)
    except ScalarError:
        return "too large a number"
    return "text" if isinstance(value, str) else f"the number {dump_json(value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file as text and as documents; a document that is no YAML is left out and told in `problems`."""

    file: str
    text: str
    documents: tuple[Document, ...]
    problems: tuple[SourceProblem, ...]
    suppressions: tuple[Suppression, ...]


def parse_text(raw: bytes, *, file: str) -> SourceFile:
    """Parse a YAML file of any number of documents. Never raises for bad input; `file` is the path to show."""
    text, problem = decode(raw)
    if problem is not None:
        return SourceFile(file=file, text=text, documents=(), problems=(problem,), suppressions=())
    return parse_lines(text, file=file)


def parse_lines(text: str, *, file: str) -> SourceFile:
    """Parse text that is already decoded."""
    problems: list[SourceProblem] = []
    documents = tuple(
        Document(file, index, data, root, refused)
        for index, (root, data, refused) in enumerate(_documents(text, problems))
    )
    return SourceFile(
        file=file,
        text=text,
        documents=documents,
        problems=tuple(sorted(problems, key=lambda problem: problem.range)),
        suppressions=suppressions(text),
    )


def _documents(text: str, problems: list[SourceProblem]) -> Iterator[tuple[Node, JsonValue, tuple[Refused, ...]]]:
    readable, stand_ins = hide_invisible_breaks(text)
    lines: list[str] = []
    start = -1
    for _ in range(MAX_BROKEN_DOCUMENTS):
        composer = Composer(readable, stand_ins=stand_ins, problems=problems)
        try:
            yield from composer.documents()
            return
        except MarkedYAMLError as error:
            lines = lines or split_lines(text)
            if not composer.skips:
                _add(problems, syntax_problem(error, lines, composer.last_event, composer.open_nodes))
            stopped = error.problem_mark.line if error.problem_mark is not None else len(lines)
        except YAMLError:
            # Not marked: the reader met a character that YAML does not allow.
            problem = forbidden_character(text)
            if problem is not None:
                problems.append(problem)
            return
        following = _next_document(lines, max(stopped, start + 1))
        if following is None:
            return
        start = following
        # Blank lines in place of what was read keep the line numbers.
        readable = "\n" * following + "\n".join(split_lines(readable)[following:])


def _add(problems: list[SourceProblem], problem: SourceProblem) -> None:
    # What the composer said of this very place says more.
    if all((problem.code, problem.range.start) != (other.code, other.range.start) for other in problems):
        problems.append(problem)


def _next_document(lines: list[str], start: int) -> int | None:
    for index in range(start, len(lines)):
        if lines[index].startswith("---") and not lines[index][3:4].strip():
            return index
    return None
