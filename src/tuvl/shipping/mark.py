"""How a bundle is told from other files, without reading it."""

from pathlib import Path

SUFFIX = ".tuvl"
SIGNATURE = b"PK\x03\x04"
"""What the first entry of its archive begins with, and so the file."""


def is_bundle(path: Path) -> bool:
    """Tell whether a path names a bundle: a file called `*.tuvl`, or one that begins like one."""
    try:
        if not path.is_file():
            return False
        if path.suffix.lower() == SUFFIX:
            return True
        with open(path, "rb") as stream:
            return stream.read(len(SIGNATURE)) == SIGNATURE
    except (OSError, ValueError):
        return False
