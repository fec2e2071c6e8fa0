"""The URLs that a document writes out, and what their text alone says about where they lead."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.url_faults import unusable_url
from tuvl.dataclass import dataclass
from tuvl.http.url_parts import UrlSyntaxError, host_is_templated, split_url
from tuvl.spec.provider_settings import addresses
from tuvl.values import KeyPath

_AUTHORITY = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?", re.IGNORECASE)
_METADATA = frozenset({"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"})
_NUMERIC = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_PART = re.compile(r"0x0{0,99}[0-9a-f]{0,8}|0{1,99}[0-7]{0,11}|[1-9][0-9]{0,9}")
_ESCAPED = re.compile(r"%([0-9a-f]{2})", re.IGNORECASE)
_USUAL = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_HOLE = "\0"


@dataclass(frozen=True, slots=True)
class Url:
    """One URL as it is written; expressions of its host are marked."""

    text: str
    path: KeyPath
    by_policy: bool
    """Whether the project's address policy judges the calls that go there."""
    scheme: str
    host: str
    port: int

    @property
    def templated(self) -> bool:
        """Whether a part of the host comes from a template or a variable."""
        return _HOLE in self.host or not self.host

    @property
    def loopback(self) -> bool:
        """Whether it leads to this machine."""
        return self.host in ("localhost", "::1") or self.host.endswith(".localhost") or self._is_number("127.")

    @property
    def is_address(self) -> bool:
        """Whether the host is an address rather than a name."""
        return ":" in self.host or self._is_number("")

    def _is_number(self, beginning: str) -> bool:
        return self.host.startswith(beginning) and _NUMERIC.fullmatch(self.host) is not None


def urls(data: Mapping[str, Any], kind: str | None) -> Iterator[Url]:
    """The URLs of a document, in file order."""
    spec = mapping(data.get("spec"))
    match kind:
        case "Workflow":
            for step in WorkflowView(data).steps:
                url = url_of(step)
                if url is not None:
                    yield url
        case "AgentModel":
            for place, address in addresses(spec):
                yield from _url(address, ("spec", *place), by_policy=False)
        case "Artifact":
            if spec.get("type") == "mcp":
                yield from _url(spec.get("url"), ("spec", "url"), by_policy=True)
        case "ProjectConfig":
            for index, source in enumerate(items(spec.get("artifact_sources"))):
                yield from _url(mapping(source).get("url"), ("spec", "artifact_sources", index, "url"), by_policy=False)


def url_of(step: StepView) -> Url | None:
    """The URL of an APICall, when its text tells the host."""
    if step.kind != "APICall":
        return None
    return next(_url(step.get("http", "url"), (*step.path, "http", "url"), by_policy=True), None)


def _url(value: object, path: KeyPath, *, by_policy: bool) -> Iterator[Url]:
    if not isinstance(value, str):
        return
    try:
        pieces = split_url(value)
    except UrlSyntaxError:
        return
    flat = "".join(_HOLE if piece.startswith("{{") else re.sub(r"\$\{[^}]*\}", _HOLE, piece) for piece in pieces)
    found = _AUTHORITY.match(flat)
    if found is None:
        return
    scheme, host, port = found[1].lower(), _dotted(_plain(found[2]).strip("[]").rstrip(".").lower()), found[3]
    yield Url(value, path, by_policy, scheme, host, int(port) if port else 443 if scheme == "https" else 80)


def _plain(host: str) -> str:
    """Write a host in the letters that a resolver is asked with: `%31` and `１` are `1`, and `。` is a dot."""
    if "[" in host or (host.isascii() and "%" not in host):
        return host
    shown = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), host)
    return unicodedata.normalize("NFKC", shown).replace("\u3002", ".")


def _dotted(host: str) -> str:
    """Write an IPv4 address as four decimal numbers, as resolvers read its other spellings: `2130706433`, `0x7f.1`."""
    parts = host.split(".")
    if len(parts) > 4 or not all(map(_PART.fullmatch, parts)) or _USUAL.fullmatch(host):
        return host
    *first, last = map(_number, parts)
    rest = 4 - len(first)
    if any(number > 255 for number in first) or last >= 256**rest:
        return host
    return ".".join(map(str, (*first, *last.to_bytes(rest, "big"))))


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)


def plain_http(data: Mapping[str, Any], kind: str | None) -> Iterator[Fault]:
    """URLs without encryption to anything but this machine."""
    for url in urls(data, kind):
        if url.scheme == "http" and not url.loopback and not url.templated:
            yield Fault(
                url.path,
                f"`http://` to {url.host!r} sends everything in the clear, credentials included",
                f"write `https://{url.host}`, or accept it with a reason",
            )


def private_addresses(data: Mapping[str, Any], kind: str | None, project: Surroundings) -> Iterator[Fault]:
    """URLs whose host is a private address, or this machine, that the project's address policy refuses."""
    for url in urls(data, kind):
        suspect = url.is_address or url.host in _METADATA or url.loopback
        if url.templated or not url.by_policy or not suspect or not _denies(project):
            continue
        if not _is_refused(url, allowed_hosts(project)):
            continue
        what = "a metadata service" if _is_metadata(url) else "this machine" if url.loopback else "a private address"
        yield Fault(
            url.path,
            f"{url.host!r} is {what}, which no call may reach: the project does not allow it",
            f"add {f'{url.host}:{url.port}'!r} to `spec.http.allow_hosts` of `tuvl.yaml`, or name a public host",
        )


def _is_refused(url: Url, allowed: tuple[str, ...]) -> bool:
    """Whether the address policy that holds at run refuses the host."""
    from ipaddress import ip_address  # takes milliseconds to import, and few documents have an address

    from tuvl.http.address import AddressPolicy, is_public

    if url.is_address:
        try:
            if is_public(ip_address(url.host)):
                return False
        except ValueError:
            return False
    return not AddressPolicy(allow_hosts=allowed).covers(url.host, url.port)


def _is_metadata(url: Url) -> bool:
    return url.host in _METADATA or url.host.startswith("169.254.") or url.host == "fd00:ec2::254"


def _denies(project: Surroundings) -> bool:
    return mapping(spec_of(project.config).get("http")).get("deny_private") is not False


def allowed_hosts(project: Surroundings) -> tuple[str, ...]:
    """`spec.http.allow_hosts` of the project."""
    hosts = mapping(spec_of(project.config).get("http")).get("allow_hosts")
    return tuple(host for host in items(hosts) if isinstance(host, str))


def templated_hosts(step: StepView, project: Surroundings) -> Iterator[Fault]:
    """A host from a template that no entry of the project's `allow_hosts` can cover: every call is refused."""
    url = step.get("http", "url")
    if step.kind != "APICall" or not isinstance(url, str) or "{{" not in url:
        return
    try:
        if not host_is_templated(url) or any(unusable_url(step)):
            return
    except UrlSyntaxError:
        return
    allowed = allowed_hosts(project)
    if any(_may_cover(pattern, url) for pattern in allowed):
        return
    path = (*step.path, "http", "url")
    why = "the project allows no host by name" if not allowed else "no entry of `allow_hosts` can cover it"
    yield Fault(
        path,
        f"the host of step {step.id!r} comes from a template, and {why}",
        "write the host literally, or name it in `spec.http.allow_hosts` of `tuvl.yaml`",
        final=True,
    )


def _may_cover(pattern: str, url: str) -> bool:
    """Whether a host that the URL can get may fit a pattern: what is literal at both ends must agree."""
    found = next(iter(_url(url, (), by_policy=True)), None)
    if found is None or found.host == _HOLE or not found.host:
        return True
    wanted = re.sub(r":(\d+|\*)$", "", pattern.strip().lower())
    if "*" not in wanted:
        return re.fullmatch(".+".join(map(re.escape, found.host.split(_HOLE))), wanted) is not None
    begins, ends = found.host.split(_HOLE)[0], found.host.split(_HOLE)[-1]
    first, last = wanted.split("*")[0], wanted.split("*")[-1]
    return _agree(begins, first) and _agree(ends[::-1], last[::-1])


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
