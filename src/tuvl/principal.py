"""Who a run acts for."""

from tuvl.dataclass import dataclass

ANY = "*"
"""The scope of the local operator, who may do everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The identity whose rights a run has, and never more."""

    id: str = "local"
    tenant: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset({"*"})
    """`*` stands for every scope: the local operator's."""

    def lacks(self, *, scope: str | None, group: str | None) -> str | None:
        """Say which right is missing, e.g. `the scope 'refunds'`; `None` when nothing is. `None` asks for nothing."""
        if ANY in self.scopes:
            return None
        if scope is not None and scope not in self.scopes:
            return f"the scope {scope!r}"
        if group is not None and group not in self.groups:
            return f"the group {group!r}"
        return None
