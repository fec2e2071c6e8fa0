"""`tuvl worker`: performs durable runs until it is told to leave them to others."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from tuvl.cli.live import Mark
from tuvl.cli.observing import Observing, observing
from tuvl.cli.stopping import stop_on_signals
from tuvl.cli.streams import stdout_set_aside
from tuvl.cli.wording import count, seconds
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.events.types import Event, RunFinished, RunStarted
from tuvl.heap import settle_heap
from tuvl.hosting.host import Host
from tuvl.hosting.opening import is_shared
from tuvl.hosting.retention import Retention
from tuvl.hosting.upkeep import Upkeep
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.settings import Settings, environment, load_settings
from tuvl.values import printable


def work(*, project: str | None, concurrency: int, grace_s: float) -> int:
    """Perform runs; returns the exit code. Raises `TuvlError` for what is wrong before the first one."""
    root = find_root(Path.cwd()) if project is None else Path(project)
    if not root.is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    settings = load_settings()
    if not is_shared(settings):
        raise UsageError(
            "workers share the runs of a PostgreSQL; set TUVL_DATABASE_URL to one, e.g. postgresql://user@host/name. "
            "Without it, `tuvl run --durable` and `tuvl resume` need no worker"
        )
    with stdout_set_aside(), observing(settings, environment(), _Stderr(), pretty=False) as observed:
        return asyncio.run(_work(ProjectIndex(root), settings, observed, concurrency=concurrency, grace_s=grace_s))


async def _work(
    project: ProjectIndex, settings: Settings, observed: Observing, *, concurrency: int, grace_s: float
) -> int:
    told = _Told()

    def sinks_for(run_id: str) -> Sequence[Sink]:
        return [*observed.sinks(), told]

    stop = stop_on_signals()
    access = StoreAccess(str(project.state_root), settings.database_url)
    retention = Retention(project.state_root, settings, access)
    async with (
        aclosing(access),
        Host.open(project, settings, concurrency=concurrency, sinks_for=sinks_for) as host,
        aclosing(Upkeep(retention, kept_s=settings.runs_kept_s)) as upkeep,
    ):
        upkeep.also(host.still_used)
        upkeep.also(host.end_unqueued)
        upkeep.also(host.listing.list_queued)
        upkeep.open()
        settle_heap()
        _say(f"taking up to {count(concurrency, 'run')} at a time, as {host.executor}")
        await stop.wait()
        told.leaving = True
        _say(f"taking nothing new; {_have(len(host.running))}")
        left = await host.drain(grace_s)
        if left:
            _say(f"{count(left, 'run')} cut off after {seconds(grace_s)}; others go on with what is on record")
    _say("ended")
    return 0


def _have(running: int) -> str:
    return f"leaving {count(running, 'run')} to others" if running else "there is no run to leave"


@dataclass(slots=True)
class _Told:
    """A sink that says which runs come and go."""

    leaving: bool = False

    def accept(self, event: Event) -> None:
        """Say that a run was taken, or how it ended."""
        match event.body:
            case RunStarted(workflow=workflow):
                _say(f"run {event.run_id} ({workflow}) taken")
            case RunFinished(status="suspended"):
                _say(f"run {event.run_id} {'left' if self.leaving else 'waits, or is left'}")
            case RunFinished(status=status):
                _say(f"run {event.run_id} {status}")
            case _:
                return


class _Stderr:
    """Says what logs and telemetry have to say of themselves."""

    def say(self, line: str, *, mark: Mark) -> None:
        _say(line)


def _say(line: str) -> None:
    sys.stderr.write(f"tuvl worker: {printable(line)}\n")
    sys.stderr.flush()
