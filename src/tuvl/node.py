"""`@node`: marks a Python function as a Functional node; what it declares is also read by `tuvl validate`."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

MARK = "__tuvl_node__"


class NodeDeclaration(NamedTuple):
    """What a node says of itself; `None` means it says nothing of that.

    A named tuple, because `import tuvl` loads this module and `dataclasses` would cost it 10 ms.
    """

    name: str
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    signals: tuple[str, ...] | None = None
    effects: Literal["read", "write"] | None = None


def node(
    name: str,
    *,
    reads: Sequence[str] | None = None,
    writes: Sequence[str] | None = None,
    signals: Sequence[str] | None = None,
    effects: Literal["read", "write"] | None = None,
) -> Callable[[Function], Function]:
    """Make a function usable as `runner: <name>` of a Functional step.

    The function takes one argument, a mapping of the public context with `params`, `args`, `principal`, `abort` as
    attributes, and returns a `dict` (context keys it sets), a `str` (the signal) or a `(dict, str)` pair. It may be
    `async`; a plain function runs in a thread. `reads`, `writes`, `signals` and `effects` are optional promises.
    """
    declaration = NodeDeclaration(
        name=name,
        reads=None if reads is None else tuple(reads),
        writes=None if writes is None else tuple(writes),
        signals=None if signals is None else tuple(signals),
        effects=effects,
    )

    def mark(function: Function) -> Function:
        setattr(function, MARK, declaration)
        return function

    return mark
