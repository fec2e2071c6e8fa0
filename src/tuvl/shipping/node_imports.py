"""Which packages the Python files of a project import, read from their syntax; nothing is imported."""

import sys
from collections.abc import Mapping

from tuvl.analysis.node_modules import modules

_OWN = "tuvl"


def imported_modules(sources: Mapping[str, bytes], *, folder: str) -> tuple[str, ...]:
    """Return the modules outside of the standard library that Python files import, by their first name, sorted.

    `sources` are the files by path; what lies in `folder` is found by them under its own name, and does not count.
    """
    own = {_OWN, *(_first_name(path, folder) for path in sources)}
    found = {module for raw in sources.values() for module in modules(raw, relative=False)}
    return tuple(sorted(found - own - sys.stdlib_module_names))


def _first_name(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/").split("/")[0].removesuffix(".py")
