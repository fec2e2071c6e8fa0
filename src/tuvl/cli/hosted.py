"""Durable runs on the database of a host, from the command line: performed here, or waited for where they go on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import cast
from uuid import uuid4

from tuvl.cli.asked import say_next
from tuvl.cli.live import View
from tuvl.cli.output import deliver, json_document
from tuvl.cli.running import INTERRUPTED
from tuvl.cli.wording import reason, summary
from tuvl.control import RunControl
from tuvl.engine.result import EXIT_CODES, Status
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.hosting.asking import DatabaseAway
from tuvl.hosting.host import Host
from tuvl.hosting.opening import FILE, is_shared
from tuvl.hosting.performing import durable_approvals
from tuvl.hosting.requests import StartRequest, WaitingRun
from tuvl.principal import ANY, Principal
from tuvl.project.index import ProjectIndex
from tuvl.settings import Settings
from tuvl.tools.approval import Approvals, AskedLater
from tuvl.values import JsonObject, printable

OPERATOR = Principal(scopes=frozenset({ANY}))
"""Who looks for a run on the command line, before it is known who answers."""

LOOK_S = 0.5
"""Seconds between two attempts to get a run that no process performs."""


def has_host(root: Path, settings: Settings) -> bool:
    """Tell whether durable runs of a project may be on the database of a host."""
    return is_shared(settings) or (root / ".tuvl" / FILE).exists()


@asynccontextmanager
async def hosted(
    project: ProjectIndex,
    settings: Settings,
    *,
    control: RunControl,
    sinks: Sequence[Sink] = (),
    approvals: Approvals | None = None,
) -> AsyncIterator[Host]:
    """Have the host of a project, which performs here only what it is told to, under one control."""
    async with Host.open(
        project,
        settings,
        concurrency=0,
        sinks_for=lambda _: sinks,
        control_for=lambda _: control,
        approvals=AskedLater() if approvals is None else durable_approvals(approvals),
    ) as host:
        yield host


async def run_hosted(
    project: ProjectIndex,
    settings: Settings,
    request: StartRequest,
    *,
    control: RunControl,
    sinks: Sequence[Sink],
    approvals: Approvals,
    say: Callable[[str], None],
) -> JsonObject:
    """Start a run and perform it here; returns its document."""
    async with hosted(project, settings, control=control, sinks=sinks, approvals=approvals) as host:
        run_id = request.run_id or uuid4().hex
        try:
            await host.start(replace(request, run_id=run_id), here=True)
        except DatabaseAway as error:
            raise DatabaseAway(f"{error}; whether it has the run by now, `tuvl resume {run_id}` tells") from error
        say(f"durable run {run_id}; a worker goes on with it when this process is lost, or `tuvl resume {run_id}`")
        return await performed_here(host, run_id, control, say=say)


async def performed_here(
    host: Host, run_id: str, control: RunControl, *, say: Callable[[str], None] | None = None
) -> JsonObject:
    """Perform a run here if nobody has it, or wait for whoever has; returns its document.

    A control that is told to abort aborts the run wherever it goes on. Where the database is away, it is waited for, as
    a worker does: what goes on here is not cut off.
    """
    following = _Following(host, run_id, control, _unsaid if say is None else say)
    while True:
        try:
            found = await following.look()
        except DatabaseAway as error:
            following.is_away(error)
            await asyncio.sleep(LOOK_S)
        else:
            if found is not None:
                return found


class _Following:
    """A run that somebody here waits for."""

    def __init__(self, host: Host, run_id: str, control: RunControl, say: Callable[[str], None]) -> None:
        self._host = host
        self._run_id = run_id
        self._control = control
        self._say = say
        self._told = False
        self._aborted = False
        self._away = False

    async def look(self) -> JsonObject | None:
        """Wait for a while, and see that somebody has the run; returns its document when there is one."""
        host, run_id, control = self._host, self._run_id, self._control
        found = await host.wait(run_id, LOOK_S)
        if found is not None:
            return found
        self._away = False
        if control.aborted and not self._aborted and run_id not in host.running:
            with suppress(UsageError):  # it has ended just now
                await host.abort(run_id, control.abort_reason or "aborted", "the operator")
            self._aborted = True
        if run_id in host.running or await host.take(run_id) or self._told:
            return None
        self._told = True
        self._say("another process has the run; waiting for it")
        return None

    def is_away(self, error: DatabaseAway) -> None:
        """Say once that the database is away."""
        if not self._away:
            self._away = True
            self._say(f"{error}; waiting for it. `tuvl resume {self._run_id}` goes on with the run if this is ended")


def _unsaid(line: str) -> None:
    """Say nothing."""


async def waiting_run(host: Host, run_id: str) -> WaitingRun:
    """Return what a run waits for; raises `UsageError` when that is nothing."""
    await host.state(run_id)
    for waiting in await host.waits(OPERATOR):
        if waiting.run_id == run_id:
            return waiting
    raise UsageError(f"run {run_id!r} is not known to wait for anything; `tuvl runs show {run_id}` says how it is")


def hand_over_document(document: JsonObject, view: View, *, output: str | None, interrupted: bool = False) -> int:
    """Give out the document of a run, then say how it went; returns the exit code."""
    status = cast(Status, document["status"])
    delivered = deliver(json_document(document), output)
    good = status == "completed"
    view.say(summary(document), mark="good" if good else "bad")
    why = reason(document)
    if why is not None:
        view.say(printable(f"on the way, {why}" if good else why), mark="bad")
    say_next(document, view)
    if interrupted:
        return INTERRUPTED
    return EXIT_CODES[status] or int(not delivered)


async def started_only(project: ProjectIndex, settings: Settings, request: StartRequest) -> str:
    """Put a run on the queue, and return its id."""
    async with hosted(project, settings, control=RunControl()) as host:
        return await host.start(request)
