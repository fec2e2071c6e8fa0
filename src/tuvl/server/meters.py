"""What the server counts, for Prometheus. Labels are names from files and paths of the server; never a value."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from tuvl.metrics import Counters

CONTENT_TYPE = CONTENT_TYPE_LATEST

_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_RUN_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)


class Meters:
    """Counters of one server; a registry of its own, so that several servers in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tuvl_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "tuvl_http_request_seconds",
            "Time until a request was answered; of event streams, until they ended.",
            ("method", "route"),
            registry=self.registry,
            buckets=_REQUEST_BUCKETS,
        )
        self.runs_started = Counter(
            "tuvl_runs_started",
            "Runs started here, forks and those of schedules included.",
            ("workflow", "durable"),
            registry=self.registry,
        )
        self.runs_ended = Counter(
            "tuvl_runs_ended", "Runs that ended in this process.", ("workflow", "status"), registry=self.registry
        )
        self.run_seconds = Histogram(
            "tuvl_run_seconds",
            "How long runs took, what they waited for people included.",
            ("workflow",),
            registry=self.registry,
            buckets=_RUN_BUCKETS,
        )
        self.refused = Counter(
            "tuvl_requests_refused",
            "Requests refused for want of a token, a right or room.",
            ("reason",),
            registry=self.registry,
        )
        self.events_dropped = Counter(
            "tuvl_events_dropped", "Events that clients were too slow for.", registry=self.registry
        )

    def ended(self, workflow: str, status: str, seconds: float) -> None:
        """Count a run that has ended, so many seconds after its beginning."""
        self.runs_ended.labels(workflow, status).inc()
        self.run_seconds.labels(workflow).observe(seconds)

    def gauge(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Show a value as it is when somebody asks."""
        self.registry.register(_Asked(name, help, value))

    def export(self, counters: Counters) -> None:
        """Show what an engine counts itself."""
        self.registry.register(_Engine(counters))

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)


class _Asked(Collector):
    def __init__(self, name: str, help: str, value: Callable[[], float]) -> None:
        self._name, self._help, self._value = name, help, value

    def collect(self) -> Iterator[Metric]:
        """Ask for the value."""
        yield GaugeMetricFamily(self._name, self._help, value=self._value())


class _Engine(Collector):
    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def describe(self) -> Iterator[Metric]:
        """Name nothing: what there is shows later."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Show each sum."""
        families: dict[tuple[str, tuple[str, ...]], CounterMetricFamily] = {}
        for name, attributes, amount in self._counters.items():
            labels = tuple(sorted(attributes))
            flat = name.replace(".", "_")
            family = families.get((name, labels))
            if family is None:
                family = CounterMetricFamily(flat, f"The counter {name} of tuvl.", labels=labels)
                families[name, labels] = family
            family.add_metric([attributes[label] for label in labels], float(amount))
        yield from families.values()
