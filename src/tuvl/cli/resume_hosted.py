"""`tuvl resume`, `tuvl approve` and `tuvl runs cancel` for runs on the database of a host."""

from tuvl.cli.answering import Said, value_for
from tuvl.cli.hosted import OPERATOR, hosted, performed_here, waiting_run
from tuvl.cli.live import View
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.host import Host
from tuvl.hosting.requests import AnswerRequest, NoSuchRun, WaitingRun
from tuvl.hosting.started import Started
from tuvl.project.index import ProjectIndex
from tuvl.settings import Settings
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn:
    """What is done with a run that is there."""

    run: str
    said: Said | None
    cancel: str | None
    by: str
    """Who stops it."""
    on_new_definition: bool
    """Whether it goes on with the files as they are now."""


async def go_on_hosted(
    project: ProjectIndex,
    settings: Settings,
    asked: GoingOn,
    *,
    control: RunControl,
    sinks: list[Sink],
    view: View,
) -> JsonObject:
    """Go on with a run, here or wherever it goes on; returns its document."""
    async with hosted(project, settings, control=control, sinks=sinks) as host:
        state = await host.state(asked.run)
        if asked.said is not None:
            await _fitting(host, asked.run, asked.said)  # before anything becomes of the run
        if asked.on_new_definition and state != "ended" and not await host.renew(asked.run, OPERATOR):
            view.say("the files are those that the run goes on with already", mark="now")
        if asked.said is not None:
            await _answer(host, asked.run, asked.said)
        elif asked.cancel is not None:
            await host.abort(asked.run, asked.cancel, asked.by)
        elif state == "ended":
            document = await host.result(asked.run)
            if document is None:
                raise UsageError(f"run {asked.run!r} has ended without a result")
            view.say("the run had ended already", mark="now")
            return document
        elif state == "waiting":
            # Taken up once more, as a run in a file is: it says what it waits for.
            await host.take(asked.run, waiting=True)
        return await performed_here(host, asked.run, control, say=lambda line: view.say(line, mark="now"))


async def _answer(host: Host, run_id: str, said: Said) -> None:
    waiting, value = await _fitting(host, run_id, said)
    await host.answer(run_id, AnswerRequest(digest=waiting.digest, value=value, by=said.by))


async def _fitting(host: Host, run_id: str, said: Said) -> tuple[WaitingRun, JsonObject]:
    """Return what the run waits for, and the answer to it; raises `UsageError` for one to something else."""
    waiting = await waiting_run(host, run_id)
    return waiting, value_for(said, waiting.kind, run_id)


async def kept_hosted(
    project: ProjectIndex, settings: Settings, run_id: str
) -> tuple[Started, dict[str, JsonObject]] | None:
    """Return what a run was started with and what is recorded of it; `None` when the database has no such run."""
    async with hosted(project, settings, control=RunControl()) as host:
        try:
            return await host.kept(run_id)
        except NoSuchRun:
            return None
