"""The run itself: wires the engine to the command line, and gives out what comes back."""

import gc
import sys
from collections.abc import Sequence
from typing import assert_never

from tuvl.cli.approving import approvals_for
from tuvl.cli.asked import say_next
from tuvl.cli.controlling import foreground_sinks
from tuvl.cli.inputs import apply_settings, read_input, read_principal
from tuvl.cli.live import JsonLines, PlainLines, Silence, View, view_for
from tuvl.cli.observing import observing, wants_structured_logs
from tuvl.cli.options import EventsMode, RunOptions
from tuvl.cli.output import deliver, json_document
from tuvl.cli.running import INTERRUPTED, Interrupts, run_to_end
from tuvl.cli.streams import stdout_set_aside
from tuvl.cli.wording import reason, summary
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.engine.admission import check_start, initial_context
from tuvl.engine.keeping import keeps_records
from tuvl.engine.result import RunResult
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.plan.model import ExecutionPlan, HumanPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings, environment, load_settings
from tuvl.source.document import Document
from tuvl.tools.approval import Approvals
from tuvl.values import JsonObject, printable, printable_lines


def execute(options: RunOptions, project: ProjectIndex, document: Document) -> int:
    """Compile and run a checked workflow; returns the exit code.

    Raises `UsageError` for an input, and `ConfigError` for an environment, that the run cannot begin with.
    """
    with stdout_set_aside():
        return _execute(options, project, document)


def _execute(options: RunOptions, project: ProjectIndex, document: Document) -> int:
    settings = load_settings()
    engine = Engine(
        project,
        settings=settings,
        environ=environment(),
        record=options.record,
        replay=options.replay,
        model_overrides=options.models,
    )
    plan = engine.plan(document)
    data = read_input(options.input)
    apply_settings(data, options.settings, None if plan.input_schema is None else plan.input_schema.schema)
    principal = read_principal(options.principal)
    if options.dry_run:
        return _show_plan(plan, document, project, options, data)
    view = view_for_mode(options.events, calm=wants_structured_logs(settings))
    approvals = approvals_for(options.approve, view, sys.stdin, sys.stderr, machine=options.events == "jsonl")
    control = RunControl(pause_max_s=settings.agent_pause_max_s)
    durable = options.durable or plan.durable or waits_for_people(plan)
    shared = durable and _is_shared(settings)
    if options.detach and not shared:
        raise UsageError(NOT_DETACHED)
    if not shared and (durable or keeps_records(plan)):
        let_be_controlled(engine, project, settings, durable=durable)
    interrupts = Interrupts(control, view)
    # The collector looks at what the run makes, and not at what was there before.
    gc.freeze()
    gc.enable()
    with observing(settings, environment(), view, pretty=options.events == "pretty") as observed:
        observed.export(engine.counters)
        sinks = foreground_sinks(observed, view, control, events=options.events)
        running = _Running(control=control, sinks=sinks, principal=principal, approvals=approvals, options=options)
        if shared:
            asked = _Asked(plan=plan, data=data, project=project, settings=settings)
            hosted = _run_on_host(engine, asked, running=running, view=view)
            return _hand_over_hosted(run_to_end(hosted, interrupts=interrupts, view=view), options, view, interrupts)
        if durable:
            run = _run_durably(engine, plan, document, project, data, running=running, view=view)
        else:
            run = _run(engine, plan, data, running=running)
        result = run_to_end(run, interrupts=interrupts, view=view)
        return hand_over(result, view, output=options.output, interrupted=interrupts.by_ctrl_c)


def let_be_controlled(engine: Engine, project: ProjectIndex, settings: Settings, *, durable: bool) -> None:
    """Have the runs of an engine seen and controlled by other processes."""
    from tuvl.supervision.opening import open_registry  # a run that is not on record does without

    engine.show_runs(open_registry(str(project.state_root), settings, every_run=durable))


def _show_plan(
    plan: ExecutionPlan, document: Document, project: ProjectIndex, options: RunOptions, data: JsonObject
) -> int:
    from tuvl.cli.dry_run import plan_document  # a run does not need it
    from tuvl.cli.plan_text import plan_text

    if options.input is not None or options.settings:
        initial_context(plan, data)
    described = plan_document(plan, document, project, environment())
    text = json_document(described) if options.format == "json" else printable_lines(plan_text(described))
    if not deliver(text, options.output):
        return 1
    return 2 if plan.refusals else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """What a run is given beside its plan and its input."""

    options: RunOptions
    control: RunControl
    principal: Principal
    approvals: Approvals
    sinks: Sequence[Sink]


async def _run(engine: Engine, plan: ExecutionPlan, data: JsonObject, *, running: _Running) -> RunResult:
    try:
        return await engine.run(
            plan,
            data,
            control=running.control,
            sinks=running.sinks,
            principal=running.principal,
            timeout_s=running.options.timeout_s,
            trace=running.options.trace,
            approvals=running.approvals,
        )
    finally:
        await engine.aclose()


async def _run_durably(
    engine: Engine,
    plan: ExecutionPlan,
    document: Document,
    project: ProjectIndex,
    data: JsonObject,
    *,
    running: _Running,
    view: View,
) -> RunResult:
    from tuvl.cli.durable import begin, not_begun, starting  # most runs are not durable
    from tuvl.durable.faults import RecordNotBegun

    try:
        check_start(plan, running.principal)
        initial_context(plan, data)  # before anything is kept of a run that cannot begin
        started = starting(plan, document, project, running.options, data=data, principal=running.principal)
        return await begin(
            engine,
            plan,
            started,
            root=project.state_root,
            control=running.control,
            sinks=running.sinks,
            approvals=running.approvals,
            say=lambda line: view.say(line, mark="now"),
        )
    except RecordNotBegun as error:
        return not_begun(plan.workflow, plan.schema_version, error)
    finally:
        await engine.aclose()


NOT_DETACHED = (
    "--detach leaves a run to workers, which share a PostgreSQL; set TUVL_DATABASE_URL to one, and say --durable"
)


def _is_shared(settings: Settings) -> bool:
    from tuvl.hosting.opening import is_shared  # most runs are not durable

    return is_shared(settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is to be run on a database that others share."""

    plan: ExecutionPlan
    data: JsonObject
    project: ProjectIndex
    settings: Settings


async def _run_on_host(engine: Engine, asked: _Asked, *, running: _Running, view: View) -> JsonObject:
    """Run on a database that workers share; returns the document, or `{run_id, status: queued}` of a detached run."""
    from tuvl.cli.hosted import run_hosted, started_only  # most runs are not durable
    from tuvl.hosting.requests import StartRequest

    await engine.aclose()  # the host has engines of its own
    options = running.options
    request = StartRequest(
        workflow=asked.plan.workflow,
        input=asked.data,
        principal=running.principal,
        models=dict(options.models),
        timeout_s=options.timeout_s,
        trace=options.trace,
    )
    if options.detach:
        return {"run_id": await started_only(asked.project, asked.settings, request), "status": "queued"}
    return await run_hosted(
        asked.project,
        asked.settings,
        request,
        control=running.control,
        sinks=running.sinks,
        approvals=running.approvals,
        say=lambda line: view.say(line, mark="now"),
    )


def _hand_over_hosted(document: JsonObject, options: RunOptions, view: View, interrupts: Interrupts) -> int:
    from tuvl.cli.hosted import hand_over_document

    if options.detach:
        return 0 if deliver(json_document(document), options.output) else 1
    return hand_over_document(document, view, output=options.output, interrupted=interrupts.by_ctrl_c)


def waits_for_people(plan: ExecutionPlan) -> bool:
    """Tell whether a run of the plan may wait for an answer, which outlives its process."""
    return any(isinstance(step.action, HumanPlan) for one in plan.with_nested() for step in one.steps.values())


def view_for_mode(mode: EventsMode, *, calm: bool) -> View:
    """Return what stderr shows of a run; `calm` says that log lines go there, too."""
    match mode:
        case "pretty":
            # Log lines go to the same stream as they are: a line that is written over would not survive them.
            return PlainLines(sys.stderr) if calm else view_for(sys.stderr, environment())
        case "jsonl":
            return JsonLines(sys.stderr)
        case "none":
            return Silence(sys.stderr)
        case _:
            assert_never(mode)


def hand_over(result: RunResult, view: View, *, output: str | None, interrupted: bool) -> int:
    """Give out the document, then say how it went: a reader of stdout never waits for one of stderr."""
    document = result.to_json()
    delivered = deliver(json_document(document), output)
    for warning in result.warnings:
        told = printable(f"warning: {warning}")
        if warning == result.recording_lost:
            view.warn(told)
        else:
            view.say(told, mark="bad")
    good = result.status == "completed"
    view.say(summary(document), mark="good" if good else "bad")
    why = reason(document)
    if why is not None:
        # An abnormal end that was routed is no failure, yet nobody should have to open the document to learn of it.
        view.say(f"on the way, {why}" if good else why, mark="bad")
    say_next(document, view)
    if interrupted:
        return INTERRUPTED
    return result.exit_code or int(not delivered or result.recording_lost is not None)
