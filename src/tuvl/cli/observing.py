"""What is recorded of a run besides its events: logs always, spans and counters where the environment asks for them."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field
from typing import Protocol

from tuvl.cli.live import Mark
from tuvl.dataclass import dataclass
from tuvl.events.sink import Sink
from tuvl.metrics import Counters
from tuvl.settings import Settings
from tuvl.telemetry.logs import plain_logs, structured_logs


class Speaker(Protocol):
    """Prints what a command has to say to people."""

    def say(self, line: str, *, mark: Mark) -> None:
        """Print a line."""
        ...


@dataclass(slots=True)
class Observing:
    """What runs are given so that they are recorded."""

    makers: list[Callable[[], Sequence[Sink]]] = field(default_factory=list)
    exports: list[Callable[[Counters], None]] = field(default_factory=list)

    def sinks(self) -> list[Sink]:
        """Return what gets the events of one run; the next run has its own."""
        return [sink for make in self.makers for sink in make()]

    def export(self, counters: Counters) -> None:
        """Let out what an engine counts."""
        for export in self.exports:
            export(counters)


@contextmanager
def observing(settings: Settings, environ: Mapping[str, str], view: Speaker, *, pretty: bool) -> Iterator[Observing]:
    """Record what happens while the block runs; its end delivers what is left, and is bounded in time.

    `pretty` says that the view is for people: log lines then go through it, so that they do not break it.
    """
    found = Observing()
    with ExitStack() as stack:
        if wants_structured_logs(settings):
            from tuvl.telemetry.log_sink import LogSink  # a run without such logs does not need it

            stack.enter_context(structured_logs(_to_stderr, format=settings.log_format, level=settings.log_level))
            found.makers.append(lambda: [LogSink()])
        else:
            stack.enter_context(_plain(view, pretty=pretty))
        if settings.otlp_endpoint is not None:
            _record(settings.otlp_endpoint, environ, view, found, stack)
        yield found


def wants_structured_logs(settings: Settings) -> bool:
    """Whether the environment asks for logs: no line may be painted over then."""
    return settings.log_format is not None or settings.log_level is not None


def _plain(view: Speaker, *, pretty: bool) -> AbstractContextManager[None]:
    if not pretty:
        return plain_logs(_to_stderr, workflow_level="warning")

    def say(line: str, level: int) -> None:
        view.say(line, mark="bad" if level >= logging.WARNING else "now")

    return plain_logs(say, workflow_level="info")


def _record(endpoint: str, environ: Mapping[str, str], view: Speaker, found: Observing, stack: ExitStack) -> None:
    try:
        from tuvl.telemetry.setup import otlp  # it imports the SDK
    except ImportError as error:
        missing = f"no module {error.name!r}"
        view.say(
            f"telemetry is off, although OTEL_EXPORTER_OTLP_ENDPOINT is set: {missing}; install 'tuvl[otel]'",
            mark="bad",
        )
        return
    telemetry = stack.enter_context(otlp(endpoint, environ, lambda line: view.say(line, mark="bad")))
    found.makers.append(telemetry.sinks)
    found.exports.append(telemetry.export)


def _to_stderr(line: str, level: int) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        # Nobody reads any more; the run goes on.
        return
