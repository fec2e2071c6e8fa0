"""A model that may be called only so often, in the place of the model itself."""

from collections.abc import Callable

from tuvl.agent.guarded_model import ModelAround
from tuvl.agent.recorded import Stateful
from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.llm.messages import ChatModel
from tuvl.llm.pacing import Paces, Rate, wait_for_turn
from tuvl.values import JsonValue


@dataclass(kw_only=True)
class PacedModel(ModelAround):
    """Has each attempt wait for its turn; whoever repeats attempts asks for it, outside of their time."""

    paces: Paces
    rate: Rate
    clock: Clock

    async def turn(self, told: Callable[[float], None]) -> float:
        """Wait until a call may be made; `told` hears beforehand how many seconds. Returns how many they were."""
        return await wait_for_turn(self.paces, self.rate, self.clock.sleep, told)


@dataclass(kw_only=True)
class PacedScript(PacedModel):
    """The same of a model that remembers how far it is."""

    stateful: Stateful

    @property
    def state(self) -> JsonValue:
        """How far it is."""
        return self.stateful.state

    def restore(self, state: JsonValue) -> None:
        """Go on from there."""
        self.stateful.restore(state)


def paced(model: ChatModel, rate: Rate, paces: Paces, clock: Clock) -> ChatModel:
    """Have a model called only so often."""
    if isinstance(model, Stateful):
        return PacedScript(inner=model, stateful=model, paces=paces, rate=rate, clock=clock)
    return PacedModel(inner=model, paces=paces, rate=rate, clock=clock)
