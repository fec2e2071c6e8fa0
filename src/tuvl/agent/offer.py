"""Which tools a turn offers: the surface narrows them from turn 2 on, a conclusion may offer none in the last turn."""

from tuvl.agent.conclude import Conclusion
from tuvl.agent.ports import Surface
from tuvl.dataclass import dataclass


@dataclass(kw_only=True)
class Offer:
    """The offer of one run; what a surface once set stays until it says otherwise."""

    declared: tuple[str, ...]
    surface: Surface | None = None
    conclusion: Conclusion | None = None
    _narrowed: frozenset[str] | None = None

    async def for_turn(self, turn: int) -> frozenset[str] | None:
        """Return the names this turn offers; `None` offers every declared tool."""
        if self.surface is not None and turn > 1:
            names = await self.surface.offered(turn, self.declared)
            if names is not None:
                self._narrowed = names & frozenset(self.declared)
        if self.conclusion is not None and not self.conclusion.offers_tools(turn):
            return frozenset()
        return self._narrowed
