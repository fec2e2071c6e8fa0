"""`tuvl runs fork`: runs a durable run anew from a step on."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from tuvl.cli.controlling import foreground_sinks
from tuvl.cli.durable import not_begun
from tuvl.cli.execution import hand_over, let_be_controlled, view_for_mode
from tuvl.cli.hosted import hand_over_document, has_host, hosted, performed_here
from tuvl.cli.inputs import read_principal
from tuvl.cli.live import View
from tuvl.cli.observing import observing, wants_structured_logs
from tuvl.cli.options import EventsMode
from tuvl.cli.output import check_destination
from tuvl.cli.resume_hosted import kept_hosted
from tuvl.cli.running import Interrupts, run_to_end
from tuvl.cli.streams import stdout_set_aside
from tuvl.control import RunControl
from tuvl.durable.definitions import Definitions
from tuvl.durable.embedded import EmbeddedRuns
from tuvl.durable.faults import RecordNotBegun
from tuvl.durable.inherited import has_entry
from tuvl.durable.record import DurableJournal
from tuvl.engine.admission import check_start
from tuvl.engine.result import RunResult
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.forking import forked, visits_anew
from tuvl.hosting.performing import engine_of, performed
from tuvl.hosting.started import Started, defined, last_definition
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.runtime import Engine
from tuvl.settings import Settings, environment, load_settings
from tuvl.tools.approval import AskedLater
from tuvl.values import JsonObject


def fork_run(
    run_id: str, at: str, *, principal: str | None, events: EventsMode, output: str | None, project: str | None
) -> int:
    """Fork a run and perform the fork, for whoever `principal` names; returns the exit code."""
    check_destination(output)
    by = read_principal(principal)
    root = find_root(Path.cwd()) if project is None else Path(project)
    if not root.is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    settings = load_settings()
    runs = EmbeddedRuns(root)
    in_file = runs.files.exists(run_id) or not has_host(root, settings)
    payload = _forked_in_file(runs, root, run_id, at, by) if in_file else {}
    with stdout_set_aside():
        view = view_for_mode(events, calm=wants_structured_logs(settings))
        control = RunControl(pause_max_s=settings.agent_pause_max_s)
        interrupts = Interrupts(control, view)
        with observing(settings, environment(), view, pretty=events == "pretty") as observed:
            sinks = foreground_sinks(observed, view, control, events=events)
            if in_file:
                forking = _in_file(runs, root, payload, settings, control, sinks, view)
                result = run_to_end(forking, interrupts=interrupts, view=view)
                return hand_over(result, view, output=output, interrupted=interrupts.by_ctrl_c)
            on_host = _on_host(root, settings, run_id, (at, by), control, sinks, view)
            document = run_to_end(on_host, interrupts=interrupts, view=view)
            return hand_over_document(document, view, output=output, interrupted=interrupts.by_ctrl_c)


def _forked_in_file(runs: EmbeddedRuns, root: Path, run_id: str, at: str, by: Principal) -> JsonObject:
    kept = runs.read(run_id)
    anew = None
    if not has_entry(kept.payload, kept.rows, at):
        with stdout_set_aside():
            anew = asyncio.run(_visits_anew(root, run_id, kept.payload, kept.rows, at))
    return forked(kept.payload, kept.rows, at, by, anew)


async def _visits_anew(
    root: Path, run_id: str, payload: JsonObject, record: Mapping[str, JsonObject], at: str
) -> frozenset[str]:
    started = last_definition(record, Started.of(payload))
    found = defined(root, started)
    async with engine_of(found.project, started) as engine:
        return await visits_anew(engine, engine.plan(found.document), started, run_id, record, at)


async def _in_file(
    runs: EmbeddedRuns,
    root: Path,
    payload: JsonObject,
    settings: Settings,
    control: RunControl,
    sinks: list[Sink],
    view: View,
) -> RunResult:
    new = uuid4().hex

    async def perform(payload: JsonObject, journal: DurableJournal) -> RunResult:
        view.say(f"durable run {new}; `tuvl resume {new}` goes on with it when this process is lost", mark="now")
        started = last_definition(journal.rows, Started.of(payload))
        Definitions(root).still_used(started.definition)  # also where it was last so long before the fork begins
        found = defined(root, started)
        engine = Engine(found.project, settings=settings, environ=environment(), model_overrides=started.models)
        let_be_controlled(engine, found.project, settings, durable=True)
        try:
            plan = engine.plan(found.document)
            check_start(plan, started.principal)
            return await performed(
                engine, plan, started, new, journal, control=control, sinks=sinks, approvals=AskedLater()
            )
        finally:
            await engine.aclose()

    try:
        ended = await runs.start(new, payload, perform)
    except RecordNotBegun as error:
        forked_from = Started.of(payload)
        return not_begun(forked_from.workflow, forked_from.schema_version, error)
    assert ended.result is not None
    return ended.result


async def _on_host(
    root: Path,
    settings: Settings,
    run_id: str,
    fork: tuple[str, Principal],
    control: RunControl,
    sinks: list[Sink],
    view: View,
) -> JsonObject:
    async with hosted(ProjectIndex(root), settings, control=control, sinks=sinks) as host:
        new = await host.fork(run_id, *fork, here=True)
        view.say(f"durable run {new}; a worker goes on with it when this process is lost", mark="now")
        return await performed_here(host, new, control)


def kept_of(root: Path, run_id: str) -> tuple[Started, dict[str, JsonObject]]:
    """Return what a durable run was started with and what is recorded of it, wherever it is kept."""
    runs, settings = EmbeddedRuns(root), load_settings()
    if not runs.files.exists(run_id) and has_host(root, settings):
        with stdout_set_aside():
            found = asyncio.run(kept_hosted(ProjectIndex(root), settings, run_id))
        if found is not None:
            return found
    kept = runs.read(run_id)
    return Started.of(kept.payload), kept.rows
