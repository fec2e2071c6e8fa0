"""Paths of triggers: those that belong to the server itself, and those that no request can have."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import WorkflowView, mapping

API_PATHS = (
    "/api/runs",
    "/api/agents",
    "/api/waits",
    "/api/workflows",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
)
"""Paths of the server itself, which no trigger may take; what is below them is the server's, too."""

PAGE_PATHS = ("/runs", "/waiting", "/assets", "/login", "/logout")
"""Paths of pages, where a browser shows who is there by its session; no trigger may take them either."""

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_PLACE = ("spec", "trigger", "path")


def is_of_api(path: str) -> bool:
    """Whether a path belongs to the API of the server."""
    return _is_below(path, API_PATHS)


def is_of_server(path: str) -> bool:
    """Whether a path belongs to the server, its API or its pages."""
    return path == "/" or is_of_api(path) or _is_below(path, PAGE_PATHS)


def bad_trigger_path(workflow: WorkflowView) -> Iterator[Fault]:
    """A path that the server does not give away, or that no request comes to."""
    path = mapping(workflow.spec.get("trigger")).get("path")
    if not isinstance(path, str):
        return
    if is_of_server(path):
        message = f"the path {path!r} of the trigger is one of the server itself"
        yield Fault(_PLACE, message, "choose another one, such as `/hooks/…`")
    elif _ESCAPE.search(path):
        message = f"no request comes to the path {path!r} of the trigger: paths are compared without their escapes"
        yield Fault(_PLACE, message, f"write {unquote(path)!r}")
    elif "?" in path or "#" in path:
        message = (
            f"no request comes to the path {path!r} of the trigger: what begins with '?' or '#' is no part of a path"
        )
        yield Fault(_PLACE, message, "take it out; the query of a GET request is the input of the run")
    elif {".", ".."} & set(path.split("/")):
        message = f"no request comes to the path {path!r} of the trigger: clients resolve '.' and '..' before they ask"
        yield Fault(_PLACE, message, "write the path as it is without them")


def _is_below(path: str, owned: tuple[str, ...]) -> bool:
    return any(path == own or path.startswith(f"{own}/") for own in owned)
