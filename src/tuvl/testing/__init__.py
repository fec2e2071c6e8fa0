"""Fakes for the tests of people who build on tuvl."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers; at run time each name is loaded when it is first asked for
    from tuvl.testing.clock import ManualClock
    from tuvl.testing.model import ScriptedModel, ScriptedReply, When, call, calls, failing, reply
    from tuvl.testing.run import run_workflow
    from tuvl.testing.toolbox import FakeToolbox

__all__ = [
    "FakeToolbox",
    "ManualClock",
    "ScriptedModel",
    "ScriptedReply",
    "When",
    "call",
    "calls",
    "failing",
    "reply",
    "run_workflow",
]

_HOMES = {
    "tuvl.testing.clock": ("ManualClock",),
    "tuvl.testing.model": ("ScriptedModel", "ScriptedReply", "When", "call", "calls", "failing", "reply"),
    "tuvl.testing.run": ("run_workflow",),
    "tuvl.testing.toolbox": ("FakeToolbox",),
}
"""Module → the names that are defined there."""


def __getattr__(name: str) -> object:
    """Load a name when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'tuvl.testing' has no attribute {name!r}")
