"""A collector of OTLP over HTTP, in a thread of its own, and places where no collector answers."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.ports import kept_port


@dataclass
class Collector:
    """What was delivered."""

    port: int = 0
    bodies: dict[str, list[bytes]] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list:
        found = []
        for body in self.bodies.get("/v1/traces", []):
            request = ExportTraceServiceRequest.FromString(body)
            found += [
                span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
            ]
        return found

    @property
    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for body in self.bodies.get("/v1/traces", [])
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }

    @property
    def counters(self) -> set[str]:
        return {
            metric.name
            for body in self.bodies.get("/v1/metrics", [])
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@contextmanager
def collecting() -> Iterator[Collector]:
    """Collect on a free port of the loopback interface."""
    collector = Collector()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.bodies.setdefault(self.path, []).append(body)
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def closed_port() -> Iterator[str]:
    """An address where connections are refused, and which nobody else takes."""
    with kept_port() as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def black_hole() -> Iterator[str]:
    """An address where connections are taken and nothing ever comes back."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        yield f"http://127.0.0.1:{silent.getsockname()[1]}"
