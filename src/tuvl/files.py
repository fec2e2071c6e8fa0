"""Writing a file in one move."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file in one move: readers see the old file or the new one, never half of it; raises `OSError`.

    A link is followed. A pipe or a device such as the null device is written to: a move would put a plain file in its
    place.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    # Beside its target, since a rename is one move only within one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
