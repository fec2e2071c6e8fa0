"""A fact about a workflow that keeps it from running; said once, for the checks and the compiler alike."""

from dataclasses import dataclass

from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and the fix. `at_key` means the key at `path`, not its value.

    `replacement` is the name to write there instead, when no other can be meant.
    """

    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False
    replacement: str | None = None
