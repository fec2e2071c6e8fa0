"""Who a run acts for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The identity whose rights a run has, and never more."""

    id: str = "local"
    tenant: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset({"*"})
    """`*` stands for every scope: the local operator's."""
