"""A run that begins where another one was: with its record up to a step, its input and its definition.

It is a run of whoever forks: it has the rights of that one, who needs what a start of the workflow needs. Whoever asked
for the first run has asked for this one, too, and so have both when it comes to who may answer.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from tuvl.durable.inherited import inherited
from tuvl.errors import UsageError
from tuvl.hosting.performing import rehearsed
from tuvl.hosting.started import FORKED_VERSION, Started
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.runtime import Engine
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject


def forked(
    payload: JsonObject, record: Mapping[str, JsonObject], at: str, by: Principal, anew: Collection[str] | None = None
) -> JsonObject:
    """Return what a fork is started with: `payload` and `record` are those of the run that it parts from.

    `anew` is what `visits_anew` says, where the step has no entry of its own. Raises `UsageError` for such a step
    without it.
    """
    given = inherited(payload, record, at, anew)
    if given is None:
        raise UsageError(f"the run has no entry of a step {at!r}, where a fork could begin")
    started = Started.of(payload)
    asked = dict.fromkeys((*started.also_requested_by, started.principal.id))
    asked.pop(by.id, None)
    mine = replace(started, principal=by, also_requested_by=tuple(asked))
    return {**payload, **mine.to_json(), **given, "v": FORKED_VERSION}


async def visits_anew(
    engine: Engine, plan: ExecutionPlan, started: Started, run_id: str, record: Mapping[str, JsonObject], at: str
) -> frozenset[str]:
    """Return the visits that a fork at a step makes anew: its first one, and all that came after.

    Steps that only compute have no entries; when the run came to them is found by going through its record. Raises
    `UsageError` for a step that the run has not come to.
    """
    if at not in plan.steps:
        hint = did_you_mean(at, plan.steps) or f"it has {', '.join(plan.steps)}"
        raise UsageError(f"workflow {plan.workflow!r} has no step {at!r}, at which a fork could begin; {hint}")
    found = await rehearsed(engine, plan, started, run_id, record)
    if found.divergence is not None:
        raise UsageError(
            f"when the run came to step {at!r} cannot be told: its files part from its record at "
            f"{found.divergence.at!r}: {found.divergence.why}"
        )
    if at not in found.steps:
        came = ", ".join(dict.fromkeys(found.steps))
        raise UsageError(f"the run has not come to step {at!r}, at which a fork could begin; it came to {came}")
    visits: list[str] = []
    counts: Counter[str] = Counter()
    for step in found.steps:
        counts[step] += 1
        visits.append(f"{step}#{counts[step]}")
    return frozenset(visits[found.steps.index(at) :])
