"""Headers with which no call is made: those that are the client's own, and names that are none."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, mapping
from tuvl.http.headers import header_problem
from tuvl.spec.reserved_settings import header_fields
from tuvl.values import KeyPath

_HINT = "take it away, or name another header"


def refused_headers(step: StepView) -> Iterator[Fault]:
    """Those of an APICall, the one that carries its credential included."""
    if step.kind != "APICall":
        return
    yield from _refused(mapping(step.get("http", "headers")), (*step.path, "http", "headers"))
    name = step.get("http", "auth", "header", "name")
    problem = header_problem(name.strip()) if isinstance(name, str) else None
    if problem is not None:
        yield Fault((*step.path, "http", "auth", "header", "name"), f"header {name!r} {problem}", _HINT)


def refused_server_headers(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Those of an MCP server that is called over HTTP."""
    yield from _refused(mapping(mapping(data.get("spec")).get("headers")), ("spec", "headers"))


def refused_model_headers(extra: Mapping[str, Any]) -> Iterator[Fault]:
    """Those that a language model is called with."""
    for field in header_fields(extra):
        yield from _refused(mapping(extra.get(field)), ("spec", "extra", field))


def _refused(headers: Mapping[str, Any], path: KeyPath) -> Iterator[Fault]:
    for name in headers:
        problem = header_problem(str(name))
        if problem is not None:
            yield Fault((*path, name), f"header {name!r} {problem}", _HINT, at_key=True)
