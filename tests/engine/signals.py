"""Lets a node of a test's project tell the test, in the same process, that it has come to a place."""

from collections.abc import Callable

_listeners: dict[str, Callable[[], object]] = {}


def listen(name: str, call: Callable[[], object]) -> None:
    """Call this when a node says `reached(name)`."""
    _listeners[name] = call


def reached(name: str) -> object:
    """Say that a place is reached; returns what the test has to say to it."""
    return _listeners[name]()
