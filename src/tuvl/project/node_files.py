"""The Python code of a project's nodes: the files that declare them, and those that they import from beside them."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path


def code_files(folder: Path) -> Iterator[Path]:
    """Yield all Python files of the nodes' folder, in a fixed order: they may import each other."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") or part == "__pycache__" for part in parts):
            yield path


def code_digest(folder: Path, read: Callable[[Path], bytes | None]) -> str:
    """Return what tells the code of a folder from another state of it; `read` gives the bytes of a file."""
    whole = hashlib.sha256()
    for path in code_files(folder):
        content = hashlib.sha256(read(path) or b"").hexdigest()
        whole.update(f"{content}  {path.relative_to(folder).as_posix()}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
