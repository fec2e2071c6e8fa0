"""`tuvl resume`: goes on with a durable run in this process."""

import asyncio
import getpass
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from tuvl.analysis.steps import mapping
from tuvl.analysis.surroundings import hidden
from tuvl.cli.answering import Decision, Said, read_said, value_for
from tuvl.cli.controlling import foreground_sinks
from tuvl.cli.execution import hand_over, let_be_controlled, view_for_mode
from tuvl.cli.hosted import hand_over_document, has_host
from tuvl.cli.inputs import read_principal
from tuvl.cli.live import View
from tuvl.cli.observing import observing, wants_structured_logs
from tuvl.cli.options import EventsMode
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.resume_hosted import GoingOn, go_on_hosted
from tuvl.cli.running import Interrupts, run_to_end
from tuvl.cli.streams import stdout_set_aside
from tuvl.clock import SystemClock
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.data.sealed_words import refuse_encrypted
from tuvl.dataclass import dataclass
from tuvl.durable.definitions import DEFINITION
from tuvl.durable.embedded import EmbeddedRuns, Ended
from tuvl.durable.record import Answer, DurableJournal, Outcome
from tuvl.engine.result import EXIT_CODES, RunResult, Status
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.answers import checked
from tuvl.hosting.performing import performed, rehearse
from tuvl.hosting.started import Started, defined, keep_definition, last_definition
from tuvl.journal import Work
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.runtime import Engine
from tuvl.settings import Settings, environment, load_settings
from tuvl.tools.approval import AskedLater
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """What the command line says."""

    run: str
    outcome: Outcome | None = None
    answer: str | None = None
    decision: Decision | None = None
    principal: str | None = None
    """File that says who answers."""
    on_new_definition: bool = False
    """Whether to go on with the files as they are now."""
    cancel: str | None = None
    """Why the run is stopped rather than gone on with."""
    events: EventsMode = "pretty"
    output: str | None = None
    project: str | None = None


def resume_run(options: ResumeOptions) -> int:
    """Go on with a run; returns the exit code. Raises `UsageError` for one that cannot be gone on with."""
    check_destination(options.output)
    root = find_root(Path.cwd()) if options.project is None else Path(options.project)
    if not root.is_dir():
        raise UsageError(f"--project names {options.project!r}, which is no folder")
    runs = EmbeddedRuns(root)
    settings = load_settings()
    if not runs.files.exists(options.run):
        if not has_host(root, settings):
            raise UsageError(f"there is no durable run {options.run!r} in this project; see `tuvl runs list`")
        return _resume_hosted(options, root, settings)
    answers = _answers(options, root, settings)
    renewed = _renewed(runs, root, options.run) if options.on_new_definition else None
    with stdout_set_aside():
        view = view_for_mode(options.events, calm=wants_structured_logs(settings))
        control = RunControl(pause_max_s=settings.agent_pause_max_s)
        interrupts = Interrupts(control, view)
        with observing(settings, environment(), view, pretty=options.events == "pretty") as observed:
            sinks = foreground_sinks(observed, view, control, events=options.events)
            going_on = _go_on(runs, root, options, answers, settings, control, sinks, view, renewed)
            ended = run_to_end(going_on, interrupts=interrupts, view=view)
            if ended.unused is not None:
                view.warn(f"the answer was not used: {ended.unused}")
            if ended.result is not None:
                return hand_over(ended.result, view, output=options.output, interrupted=interrupts.by_ctrl_c)
            return _told_again(ended.document, options, view)


def _resume_hosted(options: ResumeOptions, root: Path, settings: Settings) -> int:
    by = getpass.getuser() if options.principal is None else read_principal(options.principal).id
    asked = GoingOn(
        run=options.run,
        said=_said_by(options),
        cancel=options.cancel,
        by=by,
        on_new_definition=options.on_new_definition,
    )
    with stdout_set_aside():
        view = view_for_mode(options.events, calm=wants_structured_logs(settings))
        control = RunControl(pause_max_s=settings.agent_pause_max_s)
        interrupts = Interrupts(control, view)
        with observing(settings, environment(), view, pretty=options.events == "pretty") as observed:
            sinks = foreground_sinks(observed, view, control, events=options.events)
            going_on = go_on_hosted(ProjectIndex(root), settings, asked, control=control, sinks=sinks, view=view)
            document = run_to_end(going_on, interrupts=interrupts, view=view)
            return hand_over_document(document, view, output=options.output, interrupted=interrupts.by_ctrl_c)


def _said_by(options: ResumeOptions) -> Said | None:
    return read_said(
        outcome=options.outcome, answer=options.answer, decision=options.decision, principal=options.principal
    )


async def _go_on(
    runs: EmbeddedRuns,
    root: Path,
    options: ResumeOptions,
    answers: tuple[Answer, ...],
    settings: Settings,
    control: RunControl,
    sinks: list[Sink],
    view: View,
    renewed: str | None,
) -> Ended:
    run_id = options.run
    if options.cancel is not None:
        control.abort(options.cancel)

    async def perform(payload: JsonObject, journal: DurableJournal) -> RunResult:
        if renewed is not None:
            await journal.record(f"{DEFINITION}#{uuid4().hex[:8]}", _said(renewed))
        started = last_definition(journal.rows, Started.of(payload))
        if renewed is not None:
            started = replace(started, definition=renewed)
        found = defined(root, started)
        if found.changed:
            view.say(
                f"the files of workflow {started.workflow!r} are not those that the run was started with; it goes on "
                f"with the ones it was started with ({started.definition[:19]}…)",
                mark="now",
            )
        engine = Engine(found.project, settings=settings, environ=environment(), model_overrides=started.models)
        let_be_controlled(engine, found.project, settings, durable=True)
        try:
            plan = engine.plan(found.document)
            return await performed(
                engine, plan, started, run_id, journal, control=control, sinks=sinks, approvals=AskedLater()
            )
        finally:
            await engine.aclose()

    return await runs.resume(run_id, perform, answers=answers)


def _said(value: JsonValue) -> Work:
    async def said() -> JsonValue:
        return value

    return said


def _renewed(runs: EmbeddedRuns, root: Path, run_id: str) -> str | None:
    """Keep the definition as it is now; raises `UsageError` where it would not have come to what is recorded.

    `None` for a run that has ended: it is only told again, and its files are of no more use.
    """
    kept = runs.read(run_id)
    if kept.ended:
        return None
    started = last_definition(kept.rows, Started.of(kept.payload))
    project = ProjectIndex(root)
    document = project.workflow(started.workflow)
    if document is None:
        hint = hidden(started.workflow, project)
        raise UsageError(f"the project has no workflow {started.workflow!r} any more{(hint and f'; {hint}') or ''}")
    found = asyncio.run(rehearse(project, document, started, run_id, kept.rows))
    if found is not None:
        raise UsageError(
            f"run {run_id!r} cannot go on with the files as they are now: they part from its record at {found.at!r}: "
            f"{found.why}; without --on-new-definition it goes on with those it was started with"
        )
    return keep_definition(project, document)


def _told_again(document: JsonObject, options: ResumeOptions, view: View) -> int:
    status: Status = document["status"]  # type: ignore[assignment]
    view.say(f"the run had ended already: {status}", mark="good" if status == "completed" else "bad")
    delivered = deliver(json_document(document), options.output)
    return EXIT_CODES[status] if delivered else EXIT_CODES[status] or 1


def _answers(options: ResumeOptions, root: Path, settings: Settings) -> tuple[Answer, ...]:
    """Make the answer to what the run waits for; raises `UsageError` when it waits for nothing of the kind."""
    if options.outcome is None and options.answer is None and options.decision is None:
        return ()
    found = _waiting(options.run, root, settings)
    result = mapping(found["result"])
    refuse_encrypted(result)
    error = mapping(result.get("error"))
    detail = mapping(error.get("detail"))
    said = _said_by(options)
    assert said is not None
    by = getpass.getuser() if options.principal is None else said.by.id
    also_asked = Started.of(EmbeddedRuns(root).read(options.run).payload).also_requested_by
    kind, asked = str(error.get("type")), dict(mapping(detail.get("asked")))
    value = checked(kind, asked, value_for(said, kind, options.run), said.by, also_asked)
    answer = Answer(
        wait=str(detail.get("wait")), digest=str(detail.get("digest")), by=by, at=SystemClock().now(), value=value
    )
    return (answer,)


def _waiting(run_id: str, root: Path, settings: Settings) -> JsonObject:
    access = StoreAccess(str(root), settings.database_url, settings.record_keys)

    async def ask() -> JsonObject | None:
        try:
            return await access.store.show(run_id, Principal())
        finally:
            await access.aclose()

    found = asyncio.run(ask())
    if found is None or found["status"] != "suspended":
        raise UsageError(
            f"run {run_id!r} is not known to wait for anything; `tuvl resume {run_id}` goes on with it, and says what "
            "it waits for"
        )
    return found
