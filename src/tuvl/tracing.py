"""`span(...)`: what a run does, as a tree of spans; costs next to nothing until a tracer is installed.

A span is opened where the thing happens, in a `with` block, so that it ends on every path. What records it is handed
in from above (`tuvl.telemetry`): here nothing is imported. Attributes are metadata: names, counts and signals, never
an argument, a result or a message.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, TypeAlias

AttributeValue: TypeAlias = str | int | float | bool | Sequence[str]
SpanKind = Literal["internal", "client"]


class SpanIds(NamedTuple):
    """Where one moment stands in the traces, as lower-case hex."""

    trace_id: str
    span_id: str


class Span:
    """One span, ended when its block is left; this one is recorded nowhere."""

    __slots__ = ()

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def set(self, name: str, value: AttributeValue) -> None:
        """Set an attribute."""

    def fail(self, error_type: str) -> None:
        """Mark what the span stands for as failed; a block left by an exception is marked without this."""


class Tracer(Protocol):
    """What records spans."""

    def start(self, name: str, attributes: Mapping[str, AttributeValue], kind: SpanKind) -> Span:
        """Return a span that begins when its block is entered."""
        ...

    def current(self) -> SpanIds | None:
        """Return where the caller stands, when it is inside a span."""
        ...


OFF = Span()
"""The span of everybody, while nothing is recorded."""

_NO_ATTRIBUTES: Mapping[str, AttributeValue] = {}
_tracer: Tracer | None = None


def install(tracer: Tracer | None) -> None:
    """Record spans from now on, in the whole process; `None` stops that."""
    global _tracer
    _tracer = tracer


def recording() -> bool:
    """Whether anybody records spans: attributes that take time to make are only worth it then."""
    return _tracer is not None


def span(name: str, attributes: Mapping[str, AttributeValue] = _NO_ATTRIBUTES, *, kind: SpanKind = "internal") -> Span:
    """Return a span for a `with` block; it is inside the one that is open where the block begins."""
    return OFF if _tracer is None else _tracer.start(name, attributes, kind)


def current_ids() -> SpanIds | None:
    """Return the ids of the span that is open here, for logs and events; `None` when there is none."""
    return None if _tracer is None else _tracer.current()
