"""One file of a project, read and parsed."""

import os
from dataclasses import dataclass
from pathlib import Path

from tuvl.errors import UsageError
from tuvl.source.document import Document, SourceFile, SourceProblem, Suppression, parse_text
from tuvl.source.front_matter import ProseFile, parse_prose

MAX_READ = 5 * 1024 * 1024 + 1
"""Most bytes read of one file: one more than the parser takes, so that it can say that the file is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedFile:
    """A YAML file or a markdown artifact, parsed; `prose` is set for the latter."""

    path: Path
    file: str
    """How messages call it."""
    text: str
    documents: tuple[Document, ...]
    problems: tuple[SourceProblem, ...]
    suppressions: tuple[Suppression, ...]
    prose: ProseFile | None = None


def display_name(path: Path) -> str:
    """How messages call a file: relative to the working directory when it is below it, else absolute.

    Bytes of a name that are no UTF-8 are shown as escapes, so that any output can hold them.
    """
    shown = os.path.abspath(path)
    here = os.getcwd()
    if shown == here:
        shown = "."
    elif shown.startswith(here.rstrip(os.sep) + os.sep):
        shown = os.path.relpath(shown, here)
    return os.fsencode(shown).decode("utf-8", "backslashreplace")


def read_file(path: Path) -> bytes:
    """Read a file, as much of it as the parser takes; raises `UsageError` that says why it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_READ)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot read {display_name(path)!r}: {reason}") from None


def parse_yaml(path: Path, raw: bytes) -> LoadedFile:
    """Parse a YAML file."""
    source: SourceFile = parse_text(raw, file=display_name(path))
    return LoadedFile(
        path=path,
        file=source.file,
        text=source.text,
        documents=tuple(source.documents),
        problems=tuple(source.problems),
        suppressions=tuple(source.suppressions),
    )


def parse_markdown(path: Path, raw: bytes) -> LoadedFile:
    """Parse a markdown artifact."""
    file = display_name(path)
    prose = parse_prose(raw, file=file)
    return LoadedFile(
        path=path,
        file=file,
        text=raw.decode("utf-8", "replace").removeprefix("\ufeff"),
        documents=() if prose.document is None else (prose.document,),
        problems=tuple(prose.problems),
        suppressions=(),
        prose=prose,
    )
