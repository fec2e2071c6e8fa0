"""Everything that the paths of a server need, made once and closed once."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from tuvl.clock import Clock, SystemClock
from tuvl.data.patience import answering
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, StepError
from tuvl.events.sink import Sink
from tuvl.hosting.opening import is_shared
from tuvl.hosting.retention import Retention
from tuvl.hosting.upkeep import Upkeep
from tuvl.http.client import HttpClient
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.server.authentication import Authenticator
from tuvl.server.browser_session import BrowserSessions
from tuvl.server.catalogue import Catalogue
from tuvl.server.controlling import Controlling
from tuvl.server.durable_runs import DurableRuns
from tuvl.server.ended_sessions import EndedSessions
from tuvl.server.event_stream import Streams
from tuvl.server.jwks import SigningKeys
from tuvl.server.jwt_tokens import JwtTokens
from tuvl.server.limits import RateLimiter
from tuvl.server.live_runs import LiveRun, LiveRuns
from tuvl.server.lost_runs import LostRuns
from tuvl.server.meters import Meters
from tuvl.server.options import ServerOptions
from tuvl.server.problems import Problem
from tuvl.server.readiness import Readiness
from tuvl.server.reading import Reading
from tuvl.server.starting import Starts
from tuvl.settings import Settings
from tuvl.steps.functional import load_nodes
from tuvl.supervision.opening import open_registry
from tuvl.supervision.registry import RunRegistry

LAST_S = 5.0
"""How long an aborted run may take to end when the server closes down, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of one server."""

    options: ServerOptions
    project: ProjectIndex
    settings: Settings
    catalogue: Catalogue
    engine: Engine
    registry: RunRegistry
    authenticator: Authenticator
    sessions: BrowserSessions
    live: LiveRuns
    durable: DurableRuns
    starts: Starts
    reading: Reading
    controlling: Controlling
    lost: LostRuns
    readiness: Readiness
    upkeep: Upkeep
    streams: Streams
    rates: RateLimiter
    """How often each principal may ask."""
    failures: RateLimiter
    """How often an address may come with a token that opens nothing."""
    meters: Meters
    clock: Clock
    http: HttpClient

    @property
    def ready(self) -> bool:
        """Whether the server takes new runs."""
        return not self.starts.draining

    def answering(self) -> AbstractContextManager[None]:
        """Answer a request in the block: it does not wait for good for a store that does not answer.

        A file answers within a time of its own, or says that it does not.
        """
        return answering(is_shared(self.settings))

    async def check_ready(self) -> None:
        """Raise `Problem` unless new runs may be sent here: not while the server closes down or its store is away."""
        if not self.ready:
            raise Problem(503, "closing", "the server is closing down")
        await self.readiness.check()

    async def open(self) -> None:
        """Import the nodes of what is served, and take up durable runs that were left.

        Raises `ConfigError` for a node that cannot be imported, `UsageError` when another process has the file of the
        durable runs.
        """
        await self._load_nodes()
        await self.durable.open()
        if self.durable.there:
            self.engine.pace_by(self.durable.host.paces)
            await self.durable.host.freeze(self.catalogue.workflows)
            self.upkeep.also(self.durable.host.still_used)
            self.upkeep.also(self.durable.host.end_unqueued)
            self.upkeep.also(self.durable.host.listing.list_queued)
        self.lost.open()
        self.upkeep.open()

    async def _load_nodes(self) -> None:
        """Have every run go on with the code of now, with what nodes import from beside them, too."""
        for offered in self.catalogue.workflows.values():
            try:
                await asyncio.to_thread(load_nodes, offered.plan)
            except StepError as error:
                raise ConfigError(f"workflow {offered.name!r} cannot be served: {error}") from error

    async def drain(self) -> None:
        """Take nothing new, let what goes on end, and end what does not; durable runs are left where they are."""
        self.starts.draining = True
        await asyncio.gather(
            self.live.drain(grace_s=self.options.grace_s, last_s=LAST_S), self.durable.drain(self.options.grace_s)
        )
        self.streams.closing.set()
        self.durable.wake_readers()

    async def aclose(self) -> None:
        """Close connections; the runs have ended by then."""
        await self.readiness.aclose()
        await self.upkeep.aclose()
        await self.lost.aclose()
        await self.durable.aclose()
        await self.authenticator.aclose()
        await self.engine.aclose()
        await self.http.aclose()


def make_services(
    project: ProjectIndex,
    catalogue: Catalogue,
    engine: Engine,
    *,
    settings: Settings,
    options: ServerOptions,
    clock: Clock | None = None,
    sinks: Callable[[], Sequence[Sink]] = lambda: (),
) -> Services:
    """Wire a server; nothing is opened yet. `sinks` gives what records one run besides its clients."""
    clock = clock or SystemClock()
    registry = open_registry(str(project.state_root), settings, every_run=True)
    engine.show_runs(registry)
    access, http, meters = registry.access, HttpClient(), Meters()
    jwt_tokens = None
    if settings.jwt is not None:
        jwt_tokens = JwtTokens(settings.jwt, SigningKeys(settings.jwt.jwks, http=http, clock=clock))
    authenticator = Authenticator(access, jwt_tokens=jwt_tokens, clock=clock)
    ended_sessions = EndedSessions(access, clock=clock)

    def ended(run: LiveRun) -> None:
        status = "refused" if run.result is None else str(run.result["status"])
        meters.ended(run.workflow, status, (clock.now() - run.started_at).total_seconds())

    live = LiveRuns(
        engine,
        concurrency=options.concurrency,
        pause_max_s=settings.agent_pause_max_s,
        clock=clock,
        sinks=sinks,
        ended=ended,
    )
    reading = Reading(access, live)
    durable = DurableRuns(
        project,
        settings,
        registry,
        reading,
        concurrency=options.concurrency,
        clock=clock,
        sinks=sinks,
        ended=meters.ended,
        scheduled=lambda workflow: meters.runs_started.labels(workflow, "true").inc(),
    )
    streams = Streams(options.clients)
    meters.export(engine.counters)
    meters.gauge("tuvl_runs_running", "Runs that go on in this process.", lambda: float(live.running + durable.running))
    meters.gauge("tuvl_event_streams", "Event streams that are open.", lambda: float(streams.open))
    return Services(
        options=options,
        project=project,
        settings=settings,
        catalogue=catalogue,
        engine=engine,
        registry=registry,
        authenticator=authenticator,
        sessions=BrowserSessions(
            authenticator, options, ended=ended_sessions, secret=settings.server_secret, clock=clock
        ),
        live=live,
        durable=durable,
        starts=Starts(live, durable, access, meters=meters, clock=clock, run_timeout_s=options.run_timeout_s),
        reading=reading,
        controlling=Controlling(registry, reading),
        upkeep=Upkeep(Retention(project.state_root, settings, access), kept_s=settings.runs_kept_s, clock=clock),
        # What has ended here and could not be kept yet is not lost: it is kept in a moment.
        lost=LostRuns(access, here=lambda: {*live.ids, *access.owed.ids}, clock=clock),
        readiness=Readiness(access, clock=clock),
        streams=streams,
        rates=RateLimiter(rate=options.rate, burst=options.burst, clock=clock),
        failures=RateLimiter(rate=1.0, burst=20, clock=clock),
        meters=meters,
        clock=clock,
        http=http,
    )
