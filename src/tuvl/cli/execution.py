"""The run itself: wires the engine to the command line, and gives out what comes back."""

import gc
import sys
from collections.abc import Sequence
from typing import assert_never

from tuvl.cli.approving import approvals_for
from tuvl.cli.inputs import apply_settings, read_input, read_principal
from tuvl.cli.live import JsonLines, PlainLines, Silence, View, view_for
from tuvl.cli.observing import observing, wants_structured_logs
from tuvl.cli.options import EventsMode, RunOptions
from tuvl.cli.output import deliver, json_document
from tuvl.cli.running import INTERRUPTED, Interrupts, run_to_end
from tuvl.cli.streams import stdout_set_aside
from tuvl.cli.wording import reason, summary
from tuvl.control import RunControl
from tuvl.engine.admission import initial_context
from tuvl.engine.result import RunResult
from tuvl.events.sink import Sink
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import environment, load_settings
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
    view = _view(options.events, calm=wants_structured_logs(settings))
    approvals = approvals_for(options.approve, view, sys.stdin, sys.stderr, machine=options.events == "jsonl")
    control = RunControl(pause_max_s=settings.agent_pause_max_s)
    interrupts = Interrupts(control, view)
    # The collector looks at what the run makes, and not at what was there before.
    gc.freeze()
    gc.enable()
    with observing(settings, environment(), view, pretty=options.events == "pretty") as observed:
        observed.export(engine.counters)
        sinks = [*observed.sinks(), *([] if options.events == "none" else [view])]
        run = _run(
            engine, plan, data, options=options, control=control, principal=principal, approvals=approvals, sinks=sinks
        )
        result = run_to_end(run, interrupts=interrupts, view=view)
        return _hand_over(result, options, view, interrupted=interrupts.by_ctrl_c)


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


async def _run(
    engine: Engine,
    plan: ExecutionPlan,
    data: JsonObject,
    *,
    options: RunOptions,
    control: RunControl,
    principal: Principal,
    approvals: Approvals,
    sinks: Sequence[Sink],
) -> RunResult:
    try:
        return await engine.run(
            plan,
            data,
            control=control,
            sinks=sinks,
            principal=principal,
            timeout_s=options.timeout_s,
            trace=options.trace,
            approvals=approvals,
        )
    finally:
        await engine.aclose()


def _view(mode: EventsMode, *, calm: bool) -> View:
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


def _hand_over(result: RunResult, options: RunOptions, view: View, *, interrupted: bool) -> int:
    """Give out the document, then say how it went: a reader of stdout never waits for one of stderr."""
    document = result.to_json()
    delivered = deliver(json_document(document), options.output)
    for warning in result.warnings:
        view.say(printable(f"warning: {warning}"), mark="bad")
    good = result.status == "completed"
    view.say(summary(document), mark="good" if good else "bad")
    why = reason(document)
    if why is not None:
        # An abnormal end that was routed is no failure, yet nobody should have to open the document to learn of it.
        view.say(f"on the way, {why}" if good else why, mark="bad")
    if interrupted:
        return INTERRUPTED
    return result.exit_code or int(not delivered or result.recording_lost)
