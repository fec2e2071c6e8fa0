"""Who a run acts for."""

from tuvl.dataclass import dataclass

ANY = "*"
"""The scope of the local operator, who may do everything."""

LONGEST_NAME = 255
"""Most characters of the name of a principal or a tenant: what any database can look for."""


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a principal, a tenant or a group: it can be read, and is all there is."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The identity whose rights a run has, and never more."""

    id: str = "local"
    tenant: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset({"*"})
    """`*` stands for every scope: the local operator's."""

    def may_see(self, tenant: str | None) -> bool:
        """Tell whether runs of a tenant are there for it; those of others are not."""
        return ANY in self.scopes or self.tenant == tenant

    def lacks(self, *, scope: str | None, group: str | None) -> str | None:
        """Say which right is missing, e.g. `the scope 'refunds'`; `None` when nothing is. `None` asks for nothing."""
        if ANY in self.scopes:
            return None
        if scope is not None and scope not in self.scopes:
            return f"the scope {scope!r}"
        if group is not None and group not in self.groups:
            return f"the group {group!r}"
        return None
