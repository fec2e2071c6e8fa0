"""The places of a workflow that read a context key or set it, down to the word inside of a template."""

import re
from collections.abc import Iterator, Sequence

from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.steps import WorkflowView, text
from tuvl.lsp.setters import setters_of
from tuvl.project.index import ProjectIndex
from tuvl.source.decode import split_lines
from tuvl.source.document import Document
from tuvl.source.place import Position, Range

_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")

Found = tuple[str, Range]
"""A place, and the file it is in."""


def setting_places(key: str, document: Document, workflow: WorkflowView, index: ProjectIndex) -> Iterator[Found]:
    """Where a workflow sets a key."""
    for path in setters_of(workflow, index).get(key, ()):
        yield document.file, document.locate(path, key=path[-1] == key)


def reading_places(key: str, document: Document, workflow: WorkflowView, index: ProjectIndex) -> Iterator[Found]:
    """Where a workflow reads a key: in templates, in lists and fields that name keys, and as its output."""
    lines = split_lines(index.text_of(document.file) or "")
    for step in workflow.steps:
        for read in key_reads(step, index):
            if read.key == key:
                yield from _places(read, document, lines, index)
    output = text(workflow.spec.get("output"))
    if output is not None and output.split(".")[0] == key:
        yield document.file, document.locate(("spec", "output"))


def _places(read: KeyRead, document: Document, lines: Sequence[str], index: ProjectIndex) -> Iterator[Found]:
    if read.field.startswith(ARTIFACT_SCHEME):
        yield from _in_artifact(read, index)
        return
    whole = document.locate(read.place)
    inside = list(_words(read.key, lines, whole))
    # What is no template, or is written with escapes, is pointed at as a whole.
    yield from ((document.file, place) for place in inside or [whole])


def _in_artifact(read: KeyRead, index: ProjectIndex) -> Iterator[Found]:
    artifact = index.resolve(read.field)
    if artifact is None or artifact.body is None:
        return
    lines = split_lines(artifact.body)
    end = Position(len(lines), len(lines[-1]) + 1) if lines else Position(1, 1)
    for place in _words(read.key, lines, Range(Position(1, 1), end)):
        below = artifact.body_line - 1
        start, last = place.start, place.end
        yield artifact.file, Range(Position(start.line + below, start.column), Position(last.line + below, last.column))


def _words(key: str, lines: Sequence[str], whole: Range) -> Iterator[Range]:
    """The places of a word inside of the tags of a template."""
    shown = [*lines[whole.start.line - 1 : whole.end.line]]
    if not shown:
        return
    shown[-1] = shown[-1][: whole.end.column - 1]
    # Blanks keep the columns.
    shown[0] = " " * (whole.start.column - 1) + shown[0][whole.start.column - 1 :]
    source = "\n".join(shown)
    word = re.compile(rf"(?<![\w.]){re.escape(key)}(?!\w)")
    for tag in _TAG.finditer(source):
        code = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), tag[0])
        for found in word.finditer(code):
            at = tag.start() + found.start()
            line = source.count("\n", 0, at)
            column = at - (source.rfind("\n", 0, at) + 1)
            yield Range.at(whole.start.line + line, column + 1, len(key))
