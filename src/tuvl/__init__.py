"""tuvl: workflows of AI agents, proven before they run, bounded while they run, explained after.

Names are loaded on first use, so that `tuvl --version` and `tuvl validate` import nothing they do not need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuvl.node import node

__version__ = "0.1.0"

__all__ = ["__version__", "node"]

_HOME = {"node": "tuvl.node"}


def __getattr__(name: str) -> Any:
    """Load one public name from the module that defines it."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tuvl' has no attribute {name!r}")
