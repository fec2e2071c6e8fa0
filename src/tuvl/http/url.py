"""URL templates whose values cannot leave their place: a path segment, a query value, or the host."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from tuvl.dataclass import dataclass
from tuvl.errors import TemplateError
from tuvl.http.url_parts import UrlSyntaxError, host_is_templated, past_authority, path_of, split_url
from tuvl.templating.render import Template, compile_template
from tuvl.values import JsonValue

_BASE = re.compile(r"https?://[A-Za-z0-9.\-_\[\]:]+(/[A-Za-z0-9._~/%+-]*)?", re.IGNORECASE)
_HOST_PART = re.compile(r"[A-Za-z0-9._-]+")

Covers: TypeAlias = Callable[[str, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTemplate:
    """A URL compiled from its text: literal pieces, and one template for each `{{ … }}` between them."""

    source: str
    where: str
    pieces: tuple[str | Template, ...]

    @property
    def host_is_templated(self) -> bool:
        """Whether the host comes from a template, wholly or in part."""
        return host_is_templated(self.source)

    @property
    def names(self) -> frozenset[str]:
        """The context keys the URL reads."""
        return frozenset(name for piece in self.pieces if not isinstance(piece, str) for name in piece.names)

    @property
    def label(self) -> str:
        """The URL as messages show it: without values, query or credentials."""
        text = re.split(r"[?#]", self.source, maxsplit=1)[0]
        return re.sub(r"//[^/@]*@", "//", text)

    def render(self, values: Mapping[str, JsonValue], *, covers: Covers) -> str:
        """Put the values in; raises `TemplateError` for one that cannot stay in its place.

        `covers(host, port)` tells whether a host from a template is one of the project's `allow_hosts`.
        """
        writer = _Writer(where=self.where)
        for piece in self.pieces:
            if isinstance(piece, str):
                writer.text += piece
            else:
                writer.put(piece.render(values), piece.source)
        return writer.finish(covers)


def compile_url(text: str, *, where: str) -> UrlTemplate:
    """Compile a URL; raises `TemplateError` for a statement, an unclosed expression or a bad one."""
    try:
        split = split_url(text)
    except UrlSyntaxError as error:
        raise TemplateError(f"{where}: {error}") from None
    pieces = tuple(compile_template(piece, where=where) if piece.startswith("{{") else piece for piece in split)
    return UrlTemplate(source=text, where=where, pieces=pieces)


class _Writer:
    """Writes one URL from left to right; where a value lands is told by what stands before it."""

    def __init__(self, *, where: str) -> None:
        self.where = where
        self.text = ""
        self.host_templated = False
        self.templated_segments: set[int] = set()

    def put(self, value: JsonValue, source: str) -> None:
        text = self._as_text(value, source)
        if not past_authority(self.text):
            self._put_host(text, source)
            return
        if "?" not in self.text and "#" not in self.text:
            self.templated_segments.add(path_of(self.text).count("/"))
        self.text += quote(text, safe="")

    def _as_text(self, value: JsonValue, source: str) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, str):
            return value
        kind = "null" if value is None else "a list" if isinstance(value, list) else "a mapping"
        raise TemplateError(f"{self.where}: {source!r} is {kind}; a URL takes text and numbers")

    def _put_host(self, text: str, source: str) -> None:
        self.host_templated = True
        allowed = _BASE if not self.text else _HOST_PART
        if not allowed.fullmatch(text):
            what = "an absolute http(s) URL without a query" if not self.text else "part of a host name"
            raise TemplateError(f"{self.where}: the value of {source!r} is not {what}")
        # A base that ends in a slash, followed by a path that begins with one, is one slash.
        self.text += text.rstrip("/") if not self.text else text

    def finish(self, covers: Covers) -> str:
        segments = path_of(self.text).split("/")
        for index in self.templated_segments:
            if segments[index] in {"", ".", ".."}:
                raise TemplateError(
                    f"{self.where}: a path segment became {segments[index]!r}; its value must be other text than that"
                )
        if self.host_templated:
            host, port = host_and_port(self.text, where=self.where)
            if not covers(host, port):
                raise TemplateError(
                    f"{self.where}: the host {host!r} comes from a template and is not in the project's "
                    "spec.http.allow_hosts; write the host literally, or allow it there"
                )
        return self.text


def host_and_port(url: str, *, where: str) -> tuple[str, int]:
    """Return host and port of an absolute http(s) URL; raises `TemplateError` for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise TemplateError(f"{where}: the URL is not well-formed") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise TemplateError(f"{where}: the URL is not an absolute http(s) URL")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)
