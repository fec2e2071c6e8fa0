"""A URL to which no call can be made is told before anything runs; one that may be good is not."""

import json
from pathlib import Path

import pytest

from tests.check.checking import check, of, workflow
from tuvl.check.finding import Severity
from tuvl.errors import ConfigError
from tuvl.http.client import HttpClient
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpRequest
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex

NEVER = {
    "relative": ("/orders", "not an absolute http(s) URL"),
    "relative with a value": ("/orders/{{ id }}", "not an absolute http(s) URL"),
    "without a scheme": ("shop.example/orders", "not an absolute http(s) URL"),
    "the scheme of the page": ("//shop.example/", "not an absolute http(s) URL"),
    "a file": ("file:///etc/passwd", "not an absolute http(s) URL"),
    "another scheme": ("ftp://shop.example/x", "not an absolute http(s) URL"),
    "no host": ("https:///x", "not an absolute http(s) URL"),
    "no host before a value": ("https:///{{ id }}", "not an absolute http(s) URL"),
    "a port beyond the last": ("https://shop.example:99999/", "not well-formed"),
    "a word for a port": ("https://shop.example:web/", "not well-formed"),
    "an open address": ("https://[::1/", "not well-formed"),
    "a space": ("https://shop.example/a b", "a space"),
    "a space behind a base": ("{{ base }}/a b", "a space"),
    "a line break": ("https://shop.example/a\n", "a space"),
    "a backslash": ("https://shop.example\\x", "a backslash"),
    "letters of another script": ("https://sh\u00f6p.example/", "not ASCII"),
    "a user name": ("https://me@shop.example/", "a user name"),
}
PERHAPS = [
    "https://shop.example/orders",
    "HTTP://shop.example:8080/a?b=c d".replace(" ", "%20"),
    "https://shop.example/{{ a.b }}/{{ id | upper }}?q={{ 'a b' }}",
    "https://{{ host }}.example:{{ port }}/x",
    "{{ base }}/orders",
    "{{ base }}",
    "https://[::1]:8080/",
]


def project(url: str) -> dict[str, str]:
    step = {"id": "c", "kind": "APICall", "http": {"url": url}}
    config = {"kind": "ProjectConfig", "spec": {"http": {"allow_hosts": ["*"]}}}
    return {"tuvl.yaml": json.dumps(config), **workflow(f"- {json.dumps(step)}")}


def runs(folder: Path) -> bool:
    index = ProjectIndex(folder)
    document = index.workflow("w")
    assert document is not None
    try:
        return not compile_workflow(document, index).refusals
    except ConfigError:
        return False


@pytest.mark.parametrize(("url", "why"), NEVER.values(), ids=NEVER)
def test_url_that_no_call_can_be_made_to_is_an_error_with_its_place(tmp_path: Path, url: str, why: str) -> None:
    (found,) = of(check(tmp_path, project(url)), "TV111")
    assert why in found.message
    assert (found.path, found.severity) == ("spec.steps[0].http.url", Severity.ERROR)
    assert not runs(tmp_path)


@pytest.mark.parametrize("url", PERHAPS)
def test_url_that_may_be_good_is_not_told(tmp_path: Path, url: str) -> None:
    assert of(check(tmp_path, project(url)), "TV111") == []
    assert runs(tmp_path)


@pytest.mark.parametrize("url", [url for url, _ in NEVER.values() if "{{" not in url])
async def test_call_to_such_a_url_fails_whatever_is_there(tmp_path: Path, url: str) -> None:
    """The checks and the client read a URL alike: what is told before is what would happen."""
    with pytest.raises(HttpFault) as caught:
        await HttpClient().send(HttpRequest(method="GET", url=url), policy=None, max_bytes=10)
    assert caught.value.kind == "invalid_request"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("clock.example/mcp", 1),
        ("https://clock.example/m c p", 1),
        ("ws://${HOST}/mcp", 1),
        ("https://clock.example/mcp?team=a", 0),
        ("https://${HOST}:${PORT:80}/mcp", 0),
        ("${CLOCK}", 0),
    ],
)
def test_server_that_no_session_can_be_opened_with_is_told(tmp_path: Path, url: str, told: int) -> None:
    artifact = {
        "kind": "Artifact",
        "metadata": {"name": "clock", "version": 1},
        "spec": {"type": "mcp", "transport": "http", "url": url},
    }
    assert len(of(check(tmp_path, {"artifacts/clock.yaml": json.dumps(artifact)}), "TV111")) == told
