"""Writing a file in one move."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text file in one move, see `write_bytes_whole`; UTF-8, line breaks as they are."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file in one move: readers see the old file or the new one, never half of it; raises `OSError`.

    A link is followed. A pipe or a device such as the null device is written to: a move would put a plain file in its
    place.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    # Beside its target, since a rename is one move only within one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
