"""The steps of a run's spine in its durable record: one that was recorded is taken up, and not run again."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.engine.context import RunContext
from tuvl.journal import Journal
from tuvl.plan.model import StepPlan
from tuvl.spec.signals import Reserved
from tuvl.steps.base import RunServices, StepResult, StepScope
from tuvl.steps.recorded import effect_of, is_pure, recorded, result_of, result_to_json, within
from tuvl.values import JsonObject


@dataclass(slots=True)
class SpineJournal:
    """Names each visit to a step, so that what is done in it has its place in the record."""

    journal: Journal
    context: RunContext
    visits: Counter[str] = field(default_factory=Counter)

    def visit(self, step: StepPlan, services: RunServices) -> RunServices:
        """Return the services of the next visit to a step, which record what is done in it."""
        if not self.journal.keeps:
            return services
        self.visits[step.id] += 1
        return within(replace(services, journal=self.journal), f"{step.id}#{self.visits[step.id]}")

    async def run(self, scope: StepScope, work: Callable[[StepScope], Awaitable[StepResult]]) -> StepResult:
        """Run a step, or take up how it ended."""
        if not self.journal.keeps or is_pure(scope.step):
            return await work(scope)
        before, done = self.context.public, False

        async def working(services: RunServices) -> JsonObject:
            nonlocal done
            result = await work(replace(scope, services=services))
            done = True
            # Also what the tools of an agent wrote meanwhile.
            now = self.context.public
            changed: JsonObject = {key: value for key, value in now.items() if before.get(key, _NOTHING) is not value}
            return {**result_to_json(result), "changed": changed}

        # A run that was told to stop does nothing more, so that nobody has to be asked about what it would do.
        stopped = scope.services.control.aborted
        effect = None if stopped else effect_of(scope.step, scope.place, scope.services, scope.values)
        kept = await recorded("end", scope.services, working, effect=effect, settle=_settled)
        result = result_of(kept)
        if not done:
            self.context.apply(self.context.admit(cast(JsonObject, kept["changed"])))
            if result.signal == Reserved.ABORTED and result.failure is not None and result.failure.type == "aborted":
                scope.services.control.abort(result.failure.message)  # what comes next is what cleans up after it
        return result


_NOTHING = object()


def _settled(result: StepResult) -> JsonObject:
    return {**result_to_json(result), "changed": dict(result.delta)}
