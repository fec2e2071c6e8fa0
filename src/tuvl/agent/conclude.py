"""One notice to finish, said once, when a bound comes near."""

from dataclasses import field

from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.llm.messages import Message
from tuvl.plan.model import ConcludePlan


@dataclass(kw_only=True)
class Conclusion:
    """Watches how near the end of a run is. `told` says whether the notice went out: it is never read off the text."""

    plan: ConcludePlan
    max_iterations: int
    clock: Clock
    told: bool = False
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    def notice(self, turn: int) -> Message | None:
        """Return the notice when it is due and has not been said; `turn` counts from 1."""
        if self.told or not (self._few_turns_left(turn) or self._late()):
            return None
        self.told = True
        return Message(role="user", content=self.plan.notice)

    def offers_tools(self, turn: int) -> bool:
        """Whether this turn may still ask for tools; with `offer_tools: false` the last one may not."""
        return self.plan.offer_tools or turn < self.max_iterations

    def _few_turns_left(self, turn: int) -> bool:
        return self.max_iterations - turn < self.plan.margin

    def _late(self) -> bool:
        return self.plan.deadline_s is not None and self.clock.monotonic() - self._started >= self.plan.deadline_s
