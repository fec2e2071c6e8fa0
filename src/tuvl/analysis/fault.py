"""A fact about a workflow that keeps it from running; said once, for the checks and the compiler alike."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and the fix. `at_key` means the key at `path`, not its value.

    `replacement` is the name to write there instead, when no other can be meant. `code` is the check that tells of it,
    where a run can go on in spite of it, so that a comment may accept it; `final` means that none can, whatever the
    check.
    """

    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False
    replacement: str | None = None
    code: str | None = None
    final: bool = False


def coded(code: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    """Give faults that a run can go on in spite of the code of the check that tells of them."""
    return (replace(fault, code=code) for fault in faults)
