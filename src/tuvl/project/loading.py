"""One file of a project, read and parsed."""

import os
import stat
from pathlib import Path

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.layout import display_name
from tuvl.project.witness import witness
from tuvl.source.document import Document, SourceFile, SourceProblem, Suppression, parse_text
from tuvl.source.front_matter import ProseFile, parse_prose

__all__ = ["MAX_READ", "LoadedFile", "display_name", "parse_markdown", "parse_yaml", "read_file"]

MAX_READ = 64 * 1024 * 1024
"""Most bytes read of one file; the parser takes less, and says so."""


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
    size: int
    """Bytes."""
    prose: ProseFile | None = None


def read_file(path: Path) -> bytes:
    """Read a file, as much of it as the parser takes; raises `UsageError` that says why it cannot be read.

    A pipe or a device is refused unread: reading it might wait for ever, and what it gives can be read once only.
    Whatever is read of a project is read here, so that `witness` knows all that the findings rest on.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise UsageError(
                f"cannot read {display_name(path)!r}: it is a pipe or a device, not a file; save it as one"
            )
        with open(path, "rb") as stream:
            raw = stream.read(MAX_READ)
        witness.note(path, status, raw)
        return raw
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot read {display_name(path)!r}: {reason}") from None
    except ValueError:
        raise UsageError(f"cannot read {display_name(path)!r}: no name of a file holds a NUL character") from None


def parse_yaml(path: Path, raw: bytes) -> LoadedFile:
    """Parse a YAML file."""
    source: SourceFile = parse_text(raw, file=display_name(path))
    return LoadedFile(
        path=path,
        file=source.file,
        text=source.text,
        documents=source.documents,
        problems=source.problems,
        suppressions=source.suppressions,
        size=len(raw),
    )


def parse_markdown(path: Path, raw: bytes) -> LoadedFile:
    """Parse a markdown artifact."""
    prose = parse_prose(raw, file=display_name(path))
    return LoadedFile(
        path=path,
        file=prose.file,
        text=prose.text,
        documents=() if prose.document is None else (prose.document,),
        problems=prose.problems,
        suppressions=prose.suppressions,
        size=len(raw),
        prose=prose,
    )
