"""Operations on records that leave a mark of themselves in their transaction, so that a durable run does each once."""

from collections.abc import Awaitable, Callable

from tuvl.data.marks import claim, keep_outcome
from tuvl.data.operations import Request
from tuvl.data.sessions import StepData
from tuvl.dataclass import dataclass
from tuvl.plan.model import ModelOpPlan
from tuvl.steps.base import StepScope
from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The mark of one operation: the run, and the place in its record."""

    action: ModelOpPlan
    data: StepData
    run_id: str
    place: str

    async def once(self, request: Request, work: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """Do the work and mark it, or give the outcome of the time that it was done; raises `StepError`."""
        model = self.action.model
        # Tables are made by a connection of their own, which would wait for the one that holds the mark.
        await self.data.table(model, self.action.models)
        session = self.data.session(model.source, writes=True)
        done = await claim(session, self.run_id, self.place)
        if done is not None:
            for name in model.secure.intersection(request.payload):
                self.data.secure.add(request.payload[name])
            return done[0]
        outcome = await work()
        await keep_outcome(session, self.run_id, self.place, outcome)
        return outcome


async def mark_of(scope: StepScope, action: ModelOpPlan) -> Mark | None:
    """Return the mark of an operation; `None` where it needs none, or none can be kept."""
    services, data = scope.services, scope.data
    writes = scope.step.effects != "read" and not scope.step.keyed
    if not services.journal.place or not writes or services.can_mark is None or data is None:
        return None
    if not await services.can_mark(action.model.source):
        return None
    return Mark(action=action, data=data, run_id=services.run_id, place=services.journal.place)
