"""Performs a durable run on its record, or goes through the record alone."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.durable.definitions import is_definition
from tuvl.durable.record import DurableJournal
from tuvl.durable.rehearsal import Divergence, Rehearsal
from tuvl.engine.result import RunResult
from tuvl.errors import InputError
from tuvl.events.sink import Sink
from tuvl.hosting.started import Started
from tuvl.plan.model import ExecutionPlan, StepPlan, SubWorkflowPlan
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import environment, load_settings
from tuvl.source.document import Document
from tuvl.tools.approval import Approvals, AskedLater, StandingAnswer
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What came of going through a record with a definition."""

    divergence: Divergence | None
    """Where the two first part."""
    steps: tuple[str, ...]
    """The steps of the workflow that the run came to, in order, each as often as it was visited."""
    asks: RunResult | None = None
    """The run as it stands where it asks somebody next; `None` where something else comes first."""


async def rehearsed(
    engine: Engine, plan: ExecutionPlan, started: Started, run_id: str, rows: Mapping[str, JsonObject]
) -> Rehearsed:
    """Go through a record with a definition, doing nothing."""
    journal = Rehearsal({name: row for name, row in rows.items() if not is_definition(name)})
    try:
        result = await engine.run(
            _unhooked(plan),
            started.input,
            principal=started.principal,
            run_id=run_id,
            approvals=AskedLater(),
            journal=journal,
        )
    except InputError as error:
        return Rehearsed(divergence=Divergence(at="input", why=str(error)), steps=())
    steps = tuple(step.id for step in result.steps)
    asks = result if result.status == "suspended" else None
    if asks is not None and asks.error is not None:
        steps = (*steps, str(asks.error.detail["wait"]).partition("#")[0])  # it came to the one where it waits, too
    return Rehearsed(divergence=journal.divergence(), steps=steps, asks=asks)


@asynccontextmanager
async def engine_of(project: ProjectIndex, started: Started) -> AsyncIterator[Engine]:
    """Have an engine that goes through records with the files of a project."""
    engine = Engine(project, settings=load_settings(), environ=environment(), model_overrides=started.models)
    try:
        yield engine
    finally:
        await engine.aclose()


async def rehearse(
    project: ProjectIndex, document: Document, started: Started, run_id: str, rows: Mapping[str, JsonObject]
) -> Divergence | None:
    """Go through a record with a workflow of a project, doing nothing; returns where the two first part."""
    async with engine_of(project, started) as engine:
        return (await rehearsed(engine, engine.plan(document), started, run_id, rows)).divergence


def _unhooked(plan: ExecutionPlan) -> ExecutionPlan:
    """Return a plan that tells nobody of what is only gone through, nor do the workflows that it runs inside."""
    return replace(plan, hooks=(), steps={name: _quiet(step) for name, step in plan.steps.items()})


def _quiet(step: StepPlan) -> StepPlan:
    action = step.action
    if isinstance(action, SubWorkflowPlan):
        action = replace(action, plan=_unhooked(action.plan))
    return replace(step, hooks=(), action=action)


async def performed(
    engine: Engine,
    plan: ExecutionPlan,
    started: Started,
    run_id: str,
    journal: DurableJournal,
    *,
    control: RunControl,
    sinks: Sequence[Sink],
    approvals: Approvals,
) -> RunResult:
    """Run a plan on its record, as it was started."""
    return await engine.run(
        plan,
        started.input,
        control=control,
        sinks=sinks,
        principal=started.principal,
        timeout_s=started.timeout_s,
        run_id=run_id,
        trace=started.trace,
        approvals=durable_approvals(approvals),
        journal=journal,
    )


def durable_approvals(approvals: Approvals) -> Approvals:
    """Return who approves in a durable run: where nobody can be asked, it waits instead of being refused."""
    nobody = isinstance(approvals, StandingAnswer) and approvals.by == "nobody"
    return AskedLater() if nobody else approvals
