"""Performs a durable run on its record, or goes through the record alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuvl.control import RunControl
from tuvl.durable.record import DurableJournal
from tuvl.durable.rehearsal import Divergence, Rehearsal
from tuvl.engine.result import RunResult
from tuvl.errors import InputError
from tuvl.events.sink import Sink
from tuvl.hosting.started import DEFINITION, Started
from tuvl.plan.model import ExecutionPlan
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import environment, load_settings
from tuvl.source.document import Document
from tuvl.tools.approval import Approvals, AskedLater, StandingAnswer
from tuvl.values import JsonObject


async def rehearse(
    project: ProjectIndex, document: Document, started: Started, run_id: str, rows: Mapping[str, JsonObject]
) -> Divergence | None:
    """Go through a record with a definition, doing nothing; returns where the two first part."""
    engine = Engine(project, settings=load_settings(), environ=environment(), model_overrides=started.models)
    journal = Rehearsal({name: row for name, row in rows.items() if not name.startswith(f"{DEFINITION}#")})
    try:
        await engine.run(
            _unhooked(engine.plan(document)),
            started.input,
            principal=started.principal,
            run_id=run_id,
            approvals=AskedLater(),
            journal=journal,
        )
    except InputError as error:
        return Divergence(at="input", why=str(error))
    finally:
        await engine.aclose()
    return journal.divergence()


def _unhooked(plan: ExecutionPlan) -> ExecutionPlan:
    """Return a plan that tells nobody of what is only gone through."""
    return replace(plan, hooks=(), steps={name: replace(step, hooks=()) for name, step in plan.steps.items()})


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
