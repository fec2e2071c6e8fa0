"""How reports for other programs name a file: from the root of its repository, whatever folder the command ran in."""

import os
from functools import cache
from pathlib import Path


def repository_path(file: str) -> str:
    """Turn the name that messages give a file into its path from the repository's root, with `/` between folders.

    A file outside the repository keeps its absolute path; outside of any repository the working directory is the root.
    """
    path = os.path.abspath(file)
    root = str(_root(os.getcwd()))
    if path == root:
        return "."
    inside = path.startswith(root.rstrip(os.sep) + os.sep)
    return (os.path.relpath(path, root) if inside else path).replace(os.sep, "/")


@cache
def _root(folder: str) -> Path:
    here = Path(folder)
    # A work tree has a file of that name, a submodule too.
    return next((parent for parent in (here, *here.parents) if os.path.lexists(parent / ".git")), here)
