"""What was recorded in a test: the ended spans as a tree, and the sums of the counters."""

from collections.abc import Sequence

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tuvl.telemetry.setup import Telemetry


class _Begun(SimpleSpanProcessor):
    """Counts spans as they begin, to tell those that never end."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        super().__init__(exporter)
        self.begun = 0

    def on_start(self, span, parent_context=None) -> None:
        self.begun += 1


class Recorded:
    """One recording."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._processor = _Begun(self._exporter)
        tracers = TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(self._processor)
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.telemetry = Telemetry(tracers, meters, shutdowns=[tracers.shutdown, meters.shutdown])

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Every span, in the order they ended; fails when one has begun and not ended."""
        spans = self._exporter.get_finished_spans()
        assert len(spans) == self._processor.begun, f"{self._processor.begun} spans begun, {len(spans)} ended"
        return spans

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def tree(self) -> list[str]:
        """The spans as indented names, in the order they began."""
        spans = sorted(self.spans, key=lambda span: (span.start_time, span.context.span_id))
        children: dict[int | None, list[ReadableSpan]] = {}
        for span in spans:
            children.setdefault(span.parent.span_id if span.parent else None, []).append(span)

        def lines(parent: int | None, depth: int) -> list[str]:
            found = []
            for span in children.get(parent, []):
                found += ["  " * depth + span.name, *lines(span.context.span_id, depth + 1)]
            return found

        return lines(None, 0)

    def everything(self) -> str:
        """All that spans and counters hold, as one text."""
        texts = [span.to_json() for span in self.spans]
        data = self._reader.get_metrics_data()
        return "\n".join([*texts, "" if data is None else data.to_json()])

    def sums(self) -> dict[str, dict[frozenset[tuple[str, object]], float]]:
        """Name of a counter → attributes → sum."""
        data = self._reader.get_metrics_data()
        return {
            metric.name: {frozenset(point.attributes.items()): point.value for point in metric.data.data_points}
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def total(self, name: str) -> float:
        return sum(self.sums().get(name, {}).values())
