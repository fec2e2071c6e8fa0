"""Names of files that the system refuses, told in one place: a command that looks at them need not expect each way."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from tuvl.project.layout import display_name

UNWRITTEN, MISUSE = 1, 2

_SHOWN = 60
"""Characters of a name that a message repeats: what is too long for a name may be a document, pasted by mistake."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def told_of(error: OSError) -> tuple[str, int]:
    """Return what is said of a file that an error names, and the exit code."""
    why = (error.strerror or type(error).__name__).lower()
    if error.errno == errno.ENAMETOOLONG:
        why += "; name a file or a folder, not what it holds"
    return f"cannot use {_cut(_shown(error.filename))!r}: {why}", UNWRITTEN if error.errno in _FULL else MISUSE


def _shown(filename: object) -> str:
    if isinstance(filename, str | bytes | os.PathLike):
        return display_name(Path(os.fsdecode(filename)))
    return str(filename)


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…"


def told_of_nul(words: Sequence[str]) -> str:
    """Return what is said of words with a NUL character, which no system gives to a process, nor to a file."""
    word = next(word for word in words if "\0" in word)
    return f"{_cut(word)!r} holds a NUL character, and no name of a file does"
