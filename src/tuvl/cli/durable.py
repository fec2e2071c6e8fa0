"""`tuvl run --durable` without a database of its own: the run keeps its record in a file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

from tuvl.cli.options import RunOptions
from tuvl.control import RunControl
from tuvl.durable.embedded import EmbeddedRuns
from tuvl.durable.faults import NotKept, RecordNotBegun
from tuvl.durable.record import DurableJournal
from tuvl.engine.result import RunResult
from tuvl.events.sink import Sink
from tuvl.hosting.performing import performed
from tuvl.hosting.started import Started, keep_definition
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.source.document import Document
from tuvl.tools.approval import Approvals
from tuvl.values import JsonObject


def starting(
    plan: ExecutionPlan,
    document: Document,
    project: ProjectIndex,
    options: RunOptions,
    *,
    data: JsonObject,
    principal: Principal,
) -> Started:
    """Return what a run is started with, its definition kept; raises `RecordNotBegun` when that cannot be."""
    try:
        definition = keep_definition(project, document)
    except NotKept as error:
        raise RecordNotBegun(error.why) from error
    return Started(
        workflow=plan.workflow,
        definition=definition,
        input=data,
        models=dict(options.models),
        principal=principal,
        timeout_s=options.timeout_s,
        trace=options.trace,
    )


async def begin(
    engine: Engine,
    plan: ExecutionPlan,
    started: Started,
    *,
    root: Path,
    control: RunControl,
    sinks: Sequence[Sink],
    approvals: Approvals,
    say: Callable[[str], None],
) -> RunResult:
    """Run a plan on a new record, to its end or to where it waits; raises `RecordNotBegun`."""
    run_id = uuid4().hex

    async def perform(payload: JsonObject, journal: DurableJournal) -> RunResult:
        say(f"durable run {run_id}; `tuvl resume {run_id}` goes on with it when this process is lost")
        return await performed(
            engine, plan, Started.of(payload), run_id, journal, control=control, sinks=sinks, approvals=approvals
        )

    ended = await EmbeddedRuns(root).start(run_id, started.to_json(), perform)
    assert ended.result is not None
    return ended.result


def not_begun(workflow: str, schema_version: str, error: RecordNotBegun) -> RunResult:
    """Return the end of a run whose record could not be begun: nothing of it was done."""
    return RunResult.unperformed(uuid4().hex, workflow, schema_version, type=error.type, message=str(error))
