"""URLs to which no call can be made, as far as their text tells: a relative one, say, or one with a space."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, mapping, text
from tuvl.http.url_parts import UrlSyntaxError, split_url, target_problem
from tuvl.spec.variables import VARIABLE

_SOMETHING = "1"
"""Stands for what nobody knows yet: part of a host, a port, a segment of a path or a value of a query alike."""
_BASE = "https://1"
"""Stands for the whole beginning of a URL."""
_HINT = "write all of it: `https://host/path`"


def unusable_url(step: StepView) -> Iterator[Fault]:
    """The URL of an APICall that is refused whatever its templates give."""
    url = step.get("http", "url")
    if step.kind != "APICall" or not isinstance(url, str):
        return
    try:
        pieces = split_url(url)
    except UrlSyntaxError:
        return  # a template that is broken is told as such
    filled = "".join(
        piece if not piece.startswith("{{") else _SOMETHING if index else _BASE for index, piece in enumerate(pieces)
    )
    problem = target_problem(filled)
    if problem is not None:
        yield Fault((*step.path, "http", "url"), f"step {step.id!r} can call nothing: {problem}", _HINT)


def unusable_server(data: Mapping[str, Any]) -> Iterator[Fault]:
    """The URL of an MCP server that no session can be opened with; a variable counts as written well."""
    url = text(mapping(data.get("spec")).get("url"))
    before, variable, _ = (url or "").partition("${")
    if url is None or (variable and "://" not in before):
        return
    problem = target_problem(VARIABLE.sub(_SOMETHING, url).strip())
    if problem is not None:
        yield Fault(("spec", "url"), f"the server cannot be called: {problem}", _HINT)
