"""OpenTelemetry's SDK and OTLP exporters, started and ended; the only place that knows of them."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tuvl import __version__, tracing
from tuvl.events.sink import Sink
from tuvl.metrics import Counters
from tuvl.redaction import redact, register_secret
from tuvl.telemetry.metrics import Metrics
from tuvl.telemetry.spans import OtelTracer
from tuvl.values import shorten

CLOSE_S = 1.5
"""How long the end of a process waits for what is left to be delivered, in seconds, everything together."""

_log = logging.getLogger("tuvl.telemetry")


class Telemetry:
    """Spans and counters of this process, recorded by two providers from `start` to `close`."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider,
        meter_provider: metrics.MeterProvider,
        *,
        shutdowns: Sequence[Callable[[], object]] = (),
    ) -> None:
        """Record to these providers; `shutdowns` deliver what is left, each called once, by `close`."""
        self._tracer = OtelTracer(tracer_provider)
        self._metrics = Metrics(meter_provider)
        self._shutdowns = shutdowns

    def start(self) -> None:
        """Record spans from now on."""
        tracing.install(self._tracer)

    def sinks(self) -> tuple[Sink, ...]:
        """Return what one run's events are counted by."""
        return (self._metrics.sink(),)

    def export(self, counters: Counters) -> None:
        """Export what an engine counts itself, from now on."""
        self._metrics.export(counters)

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Deliver what is left, for so many seconds at most; returns whether that was enough."""
        tracing.install(None)
        # In daemons, all at once: neither a connection that hangs nor a name that is not found holds up the exit.
        threads = [threading.Thread(target=_quietly, args=(end,), daemon=True) for end in self._shutdowns]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)


def _quietly(end: Callable[[], object]) -> None:
    try:
        end()
    except Exception:  # noqa: BLE001 - an exporter is a guest: what it could not deliver must not end the process badly
        _log.debug("an exporter could not be shut down", exc_info=True)


def otlp_telemetry(endpoint: str, environ: Mapping[str, str]) -> Telemetry:
    """Make telemetry that goes to a collector, by OpenTelemetry's own variables; nothing is sent yet.

    A program that has a provider of its own already gets the spans and counters there, and ends it itself.
    """
    _register_credentials(endpoint, environ)
    resource = _resource(environ)
    shutdowns: list[Callable[[], object]] = []
    tracers = trace.get_tracer_provider()
    if not isinstance(tracers, TracerProvider):
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        if _wanted("OTEL_TRACES_EXPORTER", environ):
            tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        shutdowns.append(tracers.shutdown)
    meters = metrics.get_meter_provider()
    if not isinstance(meters, MeterProvider):
        wanted = _wanted("OTEL_METRICS_EXPORTER", environ)
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if wanted else []
        meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        shutdowns.append(meters.shutdown)
    return Telemetry(tracers, meters, shutdowns=shutdowns)


def _wanted(name: str, environ: Mapping[str, str]) -> bool:
    return environ.get(name, "").strip().lower() != "none"


def _register_credentials(endpoint: str, environ: Mapping[str, str]) -> None:
    for signal in ("", "TRACES_", "METRICS_"):
        for pair in environ.get(f"OTEL_EXPORTER_OTLP_{signal}HEADERS", "").split(","):
            register_secret(unquote(pair.partition("=")[2].strip()))
    register_secret(urlsplit(endpoint).password or "")


def _resource(environ: Mapping[str, str]) -> Resource:
    named = environ.get("OTEL_SERVICE_NAME") or f"{SERVICE_NAME}=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if named else {SERVICE_NAME: "tuvl", SERVICE_VERSION: __version__})


@contextmanager
def otlp(endpoint: str, environ: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Telemetry]:
    """Record and deliver while the block runs; what goes wrong with that is said once, in one line."""
    told = _ToldOnce(say, where=shown(endpoint))
    logger = logging.getLogger("opentelemetry")
    before = logger.propagate
    logger.addHandler(told)
    logger.propagate = False
    try:
        telemetry = otlp_telemetry(endpoint, environ)
        telemetry.start()
        try:
            yield telemetry
        finally:
            if not telemetry.close():
                told.undelivered()
    finally:
        logger.removeHandler(told)
        logger.propagate = before


class _ToldOnce(logging.Handler):
    """Turns whatever the SDK and its exporters have to complain of into one line."""

    def __init__(self, say: Callable[[str], None], *, where: str) -> None:
        super().__init__(logging.WARNING)
        self._say = say
        self._where = where
        self._told = False

    def emit(self, record: logging.LogRecord) -> None:
        """Say the first one."""
        if record.name.startswith("opentelemetry.exporter"):
            self.undelivered()
        else:
            self._once(f"telemetry: {shorten(redact(record.getMessage()))}")

    def undelivered(self) -> None:
        """Say that the collector cannot be reached."""
        self._once(f"telemetry could not be delivered to {self._where}; the run is not affected")

    def _once(self, line: str) -> None:
        if not self._told:
            self._told = True
            self._say(line)


def shown(endpoint: str) -> str:
    """Write an endpoint for a message: its host and port, and nothing that may be a secret."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
