"""`tuvl resume`: goes on with a durable run in this process."""

import asyncio
import getpass
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tuvl.analysis.steps import mapping
from tuvl.cli.durable import Started, defined, performed
from tuvl.cli.execution import hand_over, view_for_mode
from tuvl.cli.inputs import read_bytes
from tuvl.cli.live import View
from tuvl.cli.observing import observing, wants_structured_logs
from tuvl.cli.options import EventsMode
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.running import Interrupts, run_to_end
from tuvl.cli.streams import stdout_set_aside
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.durable.embedded import EmbeddedRuns, Ended
from tuvl.durable.record import Answer, DurableJournal, Outcome
from tuvl.engine.result import EXIT_CODES, RunResult, Status
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.principal import Principal
from tuvl.project.layout import find_root
from tuvl.runtime import Engine
from tuvl.settings import Settings, environment, load_settings
from tuvl.source.loading import load_data
from tuvl.tools.approval import AskedLater
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """What the command line says."""

    run: str
    outcome: Outcome | None
    answer: str | None
    events: EventsMode
    output: str | None
    project: str | None


def resume_run(options: ResumeOptions) -> int:
    """Go on with a run; returns the exit code. Raises `UsageError` for one that cannot be gone on with."""
    check_destination(options.output)
    root = find_root(Path.cwd()) if options.project is None else Path(options.project)
    if not root.is_dir():
        raise UsageError(f"--project names {options.project!r}, which is no folder")
    runs = EmbeddedRuns(root)
    if not runs.files.exists(options.run):
        raise UsageError(f"there is no durable run {options.run!r} in this project; see `tuvl runs list`")
    settings = load_settings()
    answers = _answers(options, root, settings)
    with stdout_set_aside():
        view = view_for_mode(options.events, calm=wants_structured_logs(settings))
        control = RunControl(pause_max_s=settings.agent_pause_max_s)
        interrupts = Interrupts(control, view)
        with observing(settings, environment(), view, pretty=options.events == "pretty") as observed:
            sinks: list[Sink] = [*observed.sinks(), *([] if options.events == "none" else [view])]
            going_on = _go_on(runs, root, options.run, answers, settings, control, sinks, view)
            ended = run_to_end(going_on, interrupts=interrupts, view=view)
            if ended.result is not None:
                return hand_over(ended.result, view, output=options.output, interrupted=interrupts.by_ctrl_c)
            return _told_again(ended.document, options, view)


async def _go_on(
    runs: EmbeddedRuns,
    root: Path,
    run_id: str,
    answers: tuple[Answer, ...],
    settings: Settings,
    control: RunControl,
    sinks: list[Sink],
    view: View,
) -> Ended:
    async def perform(payload: JsonObject, journal: DurableJournal) -> RunResult:
        started = Started.of(payload)
        found = defined(root, started)
        if found.changed:
            view.say(
                f"the files of workflow {started.workflow!r} are not those that the run was started with; it goes on "
                f"with the ones it was started with ({started.definition[:19]}…)",
                mark="now",
            )
        engine = Engine(found.project, settings=settings, environ=environment(), model_overrides=started.models)
        try:
            plan = engine.plan(found.document)
            return await performed(
                engine, plan, started, run_id, journal, control=control, sinks=sinks, approvals=AskedLater()
            )
        finally:
            await engine.aclose()

    return await runs.resume(run_id, perform, answers=answers)


def _told_again(document: JsonObject, options: ResumeOptions, view: View) -> int:
    status: Status = document["status"]  # type: ignore[assignment]
    view.say(f"the run had ended already: {status}", mark="good" if status == "completed" else "bad")
    delivered = deliver(json_document(document), options.output)
    return EXIT_CODES[status] if delivered else EXIT_CODES[status] or 1


def _answers(options: ResumeOptions, root: Path, settings: Settings) -> tuple[Answer, ...]:
    """Make the answer to what the run waits for; raises `UsageError` when it waits for nothing of the kind."""
    if options.outcome is None and options.answer is None:
        return ()
    error = _waiting(options.run, root, settings)
    kind, detail = error.get("type"), mapping(error.get("detail"))
    unknown = kind == "outcome_unknown"
    if options.outcome is not None and not unknown:
        raise UsageError(f"--outcome says what became of a step whose process was lost; run {options.run!r} has none")
    given = {} if options.answer is None else _mapping(options.answer)
    if unknown:
        if options.outcome is None:
            raise UsageError("say what became of the step: --outcome done, retry or failed")
        if given and options.outcome != "done":
            raise UsageError("--answer says what a step would have set, and goes with --outcome done")
        value: JsonObject = {"outcome": options.outcome, "answer": given}
    else:
        value = given
    answer = Answer(
        wait=str(detail.get("wait")),
        digest=str(detail.get("digest")),
        by=getpass.getuser(),
        at=datetime.now(UTC),
        value=value,
    )
    return (answer,)


def _waiting(run_id: str, root: Path, settings: Settings) -> JsonObject:
    access = StoreAccess(str(root), settings.database_url)

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
    return dict(mapping(mapping(found["result"]).get("error")))


def _mapping(source: str) -> JsonObject:
    data = load_data(read_bytes(Path(source), option="--answer"), name=source)
    if not isinstance(data, dict):
        raise UsageError(f"the answer in {source} is no mapping of names to values")
    reserved = sorted(key for key in data if key.startswith("_"))
    if reserved:
        raise UsageError(f"the answer in {source} has the key {reserved[0]!r}, and those with a '_' are the engine's")
    return data
