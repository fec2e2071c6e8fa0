"""`tuvl serve`: checks a project, and serves its workflows over HTTP until it is told to end."""

import asyncio
import re
import sys
from contextlib import ExitStack
from pathlib import Path

from tuvl.analysis.surroundings import mend_first
from tuvl.check.finding import Severity
from tuvl.cli.live import Mark
from tuvl.cli.observing import Observing, observing
from tuvl.cli.render import report_text
from tuvl.cli.stopping import stop_on_signals
from tuvl.cli.streams import stdout_set_aside
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, UsageError
from tuvl.heap import settle_heap
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.project.unseen import unseen
from tuvl.runtime import Engine
from tuvl.server.options import ServerOptions
from tuvl.settings import Settings, environment, load_settings
from tuvl.values import printable

FINDINGS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says; times are seconds."""

    project: str | None
    host: str
    port: int
    grpc_port: int | None
    allow_hosts: tuple[str, ...]
    public_url: str | None
    concurrency: int
    clients: int
    rate: float
    burst: int
    max_body_bytes: int
    run_timeout_s: float
    grace_s: float


def serve_command(options: ServeOptions) -> int:
    """Serve; returns the exit code. Raises `TuvlError` for what is wrong before anything is served."""
    root = find_root(Path.cwd()) if options.project is None else Path(options.project)
    if not root.is_dir():
        raise UsageError(f"--project names {options.project!r}, which is no folder")
    _check(options)
    settings = load_settings()
    with stdout_set_aside(), observing(settings, environment(), _Stderr(), pretty=False) as observed:
        return asyncio.run(_serve(options, ProjectIndex(root), settings, observed))


def _check(options: ServeOptions) -> None:
    """Refuse addresses that cannot be ones; raises `UsageError`."""
    for name in options.allow_hosts:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"--allow-host takes a name such as agents.example.com, without scheme and port, not {name!r}"
            )
    if options.public_url is not None and not _URL.fullmatch(options.public_url):
        given = repr(options.public_url)
        raise UsageError(f"--public-url takes a URL without a path, e.g. https://agents.example.com, not {given}")


_NAME = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:]+")
_URL = re.compile(r"https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\])(:\d{1,5})?/?")


class _Stderr:
    """Says what logs and telemetry have to say of themselves."""

    def say(self, line: str, *, mark: Mark) -> None:
        _say(line)


async def _serve(options: ServeOptions, project: ProjectIndex, settings: Settings, observed: Observing) -> int:
    try:
        from tuvl import listening as ports
        from tuvl.server.catalogue import catalogue_of
        from tuvl.server.services import make_services
        from tuvl.server.serving import prepare, serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"tuvl serve needs the package {error.name!r}; install it with pip install 'tuvl[server]'"
        ) from error
    if options.grpc_port is not None:
        _require_grpc()
    engine = Engine(project, settings=settings, environ=environment())
    catalogue, report = catalogue_of(project, engine)
    if report.failed():
        sys.stderr.write(report_text(report, colour=False, least=Severity.ERROR))
        return FINDINGS
    hidden = mend_first(unseen(project, "Workflow"))
    if hidden is not None:
        raise UsageError(f"not all workflows of the project {project.relative(project.root)!r} can be seen: {hidden}")
    if not catalogue.workflows:
        raise UsageError(f"the project {project.relative(project.root)!r} has no workflow; see --project")
    observed.export(engine.counters)
    services = make_services(
        project, catalogue, engine, settings=settings, options=_bounds(options), sinks=observed.sinks
    )
    beside = []
    opened = ExitStack()
    try:
        has_tokens = await prepare(services)
        listening = opened.enter_context(ports.bind(options.host, options.port, backlog=2048))
        if options.grpc_port is not None:
            from tuvl.rpc.serving import start_rpc

            beside.append(await start_rpc(services, options.host, options.grpc_port))
    except BaseException:
        opened.close()
        await services.aclose()
        raise
    stop = stop_on_signals(lambda: _say("closing down: no new runs; those that go on get their time"))
    _say(f"serving {', '.join(catalogue.workflows)} at {ports.url_of(listening)}")
    for rpc in beside:
        _say(f"serving gRPC at {rpc.address}")
    if not services.durable.there:
        _say("no run is durable here, and no schedule starts one: pip install 'tuvl[durable]'")
    if not has_tokens:
        _say("there is no token yet, so nobody gets in; `tuvl token create` makes one")
    settle_heap()
    await serve(services, listening, stop=stop, beside=beside)
    _say("ended")
    return 0


def _bounds(options: ServeOptions) -> ServerOptions:
    return ServerOptions(
        host=options.host,
        port=options.port,
        allow_hosts=options.allow_hosts,
        public_url=options.public_url,
        concurrency=options.concurrency,
        clients=options.clients,
        rate=options.rate,
        burst=options.burst,
        max_body_bytes=options.max_body_bytes,
        run_timeout_s=options.run_timeout_s,
        grace_s=options.grace_s,
    )


def _require_grpc() -> None:
    """See that gRPC can be served; raises `ConfigError` where it is not installed."""
    try:
        import tuvl.rpc.serving  # noqa: F401 - only whether it can be had
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--grpc-port needs the package {error.name!r}; install it with pip install 'tuvl[server,grpc]'"
        ) from error


def _say(line: str) -> None:
    sys.stderr.write(f"tuvl serve: {printable(line)}\n")
    sys.stderr.flush()
