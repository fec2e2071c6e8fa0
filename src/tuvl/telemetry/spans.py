"""Spans over the OpenTelemetry API: opened in the context of the task, ended on every path, without contents."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType

from opentelemetry import context as otel_context
from opentelemetry import trace

from tuvl import __version__
from tuvl.errors import StepError
from tuvl.tracing import AttributeValue, Span, SpanIds, SpanKind

ERROR_TYPE = "error.type"

_KINDS: Mapping[SpanKind, trace.SpanKind] = {
    "internal": trace.SpanKind.INTERNAL,
    "client": trace.SpanKind.CLIENT,
}
_innermost: ContextVar["_OpenSpan | None"] = ContextVar("tuvl_innermost_span", default=None)


class OtelTracer:
    """Makes spans with the tracer of a provider."""

    def __init__(self, provider: trace.TracerProvider) -> None:
        self._tracer = provider.get_tracer("tuvl", __version__)

    def start(self, name: str, attributes: Mapping[str, AttributeValue], kind: SpanKind) -> Span:
        """Return a span that begins when its block is entered."""
        return _OpenSpan(self._tracer, name, attributes, kind)

    def current(self) -> SpanIds | None:
        """Return where the caller stands, when it is inside a span."""
        found = trace.get_current_span().get_span_context()
        if not found.is_valid:
            return None
        return SpanIds(trace_id=format(found.trace_id, "032x"), span_id=format(found.span_id, "016x"))


class _OpenSpan(Span):
    """One span of OpenTelemetry, current for what happens inside its block."""

    __slots__ = ("_attributes", "_before", "_failed", "_kind", "_name", "_outer", "_span", "_tracer")

    def __init__(
        self, tracer: trace.Tracer, name: str, attributes: Mapping[str, AttributeValue], kind: SpanKind
    ) -> None:
        self._tracer = tracer
        self._name = name
        self._attributes = attributes
        self._kind = kind
        self._failed = False
        self._span: trace.Span = trace.INVALID_SPAN
        self._before = otel_context.Context()
        self._outer: _OpenSpan | None = None

    def __enter__(self) -> "_OpenSpan":
        self._before, self._outer = otel_context.get_current(), _innermost.get()
        self._span = self._tracer.start_span(
            self._name, self._before, kind=_KINDS[self._kind], attributes=dict(self._attributes)
        )
        otel_context.attach(trace.set_span_in_context(self._span, self._before))
        _innermost.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.fail(error_type(error))
        # Code that is thrown away, rather than ended, leaves its blocks in the context of whoever throws it away:
        # that one has nothing of ours to restore. Where it has, setting cannot fail the way a token's reset can.
        if _innermost.get() is self:
            otel_context.attach(self._before)
            _innermost.set(self._outer)
        self._span.end()

    def set(self, name: str, value: AttributeValue) -> None:
        """Set an attribute."""
        self._span.set_attribute(name, value)

    def fail(self, error_type: str) -> None:
        """Mark the span as failed, once: what was said first is nearer to the cause."""
        if self._failed:
            return
        self._failed = True
        self._span.set_attribute(ERROR_TYPE, error_type)
        # No description: a message may quote what a template or a guest put into it.
        self._span.set_status(trace.StatusCode.ERROR)


def error_type(error: BaseException) -> str:
    """Name an exception for machines: the type of our own errors, `cancelled`, else the name of its class."""
    if isinstance(error, StepError):
        return error.type
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return type(error).__name__
