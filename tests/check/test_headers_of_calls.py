"""A header that is the client's own is told before anything runs, and refused by whoever sends; others are not."""

import json
from pathlib import Path

import pytest

from tests.check.checking import check, of, workflow
from tuvl.check.finding import Severity
from tuvl.errors import ConfigError
from tuvl.http.address import AddressPolicy
from tuvl.http.client import HttpClient
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpRequest
from tuvl.llm.settings import CallSettings
from tuvl.mcp.endpoint import McpServer, remote_endpoint
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.spec.artifact import RemoteServer

REFUSED = ["Host", "host", "Transfer-Encoding", "CONTENT-LENGTH", "Connection", "Upgrade", "TE", "Expect", "Keep-Alive"]
NO_NAMES = ["", "a b", "a:b", ":authority", "a\r\nHost"]
OWN = ["X-Team", "Authorization", "Accept", "Content-Type", "X-Host", "Idempotency-Key", "Hosts"]


def call(headers: dict[str, str], auth: str | None = None) -> dict[str, str]:
    http: dict[str, object] = {"url": "https://shop.example/", "headers": headers}
    if auth is not None:
        http["auth"] = {"header": {"name": auth, "value": "${KEY}"}}
    return workflow(f"- {json.dumps({'id': 'c', 'kind': 'APICall', 'http': http})}")


def compiles(folder: Path) -> bool:
    project = ProjectIndex(folder)
    document = project.workflow("w")
    assert document is not None
    try:
        compile_workflow(document, project)
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize("name", [*REFUSED, *NO_NAMES])
async def test_header_that_is_the_clients_is_told_before_a_run_and_refused_by_it(tmp_path: Path, name: str) -> None:
    (found,) = of(check(tmp_path, call({name: "evil.example"})), "TV111")
    assert found.message.startswith(f"header {name!r} ")
    assert found.severity is Severity.ERROR
    assert not compiles(tmp_path)
    client = HttpClient()
    request = HttpRequest(method="GET", url="https://127.0.0.1:1/", headers={name: "evil.example"})
    with pytest.raises(HttpFault, match=r"cannot be the name of a header|is not for a file to set"):
        await client.send(request, policy=None, max_bytes=1)
    with pytest.raises(HttpFault, match=r"cannot be the name of a header|is not for a file to set"):
        await client.open(request, policy=None)


@pytest.mark.parametrize("name", OWN)
def test_other_headers_are_the_files_own(tmp_path: Path, name: str) -> None:
    assert of(check(tmp_path, call({name: "x"}, auth="X-Api-Key")), "TV111") == []
    assert compiles(tmp_path)


def test_header_of_the_credential_is_looked_at_as_the_others(tmp_path: Path) -> None:
    (found,) = of(check(tmp_path, call({}, auth="Host")), "TV111")
    assert found.path == "spec.steps[0].http.auth.header.name"
    assert not compiles(tmp_path)


@pytest.mark.parametrize("field", ["extra_headers", "headers"])
def test_headers_of_a_language_model_are_looked_at_in_every_lane(tmp_path: Path, field: str) -> None:
    spec = {"provider": "openai", "model": "m", "extra": {field: {"X-Team": "a", "Host": "evil.example"}}}
    preset = json.dumps({"kind": "AgentModel", "metadata": {"name": "small"}, "spec": spec})
    (found,) = of(check(tmp_path, {**call({}), "llms/small.yaml": preset}), "TV220")
    assert found.path == f"spec.extra.{field}.Host"
    with pytest.raises(ConfigError, match="header 'Host' is not for a file to set"):
        CallSettings(name="small", model="m", extra={field: {"Host": "evil.example"}})
    CallSettings(name="small", model="m", extra={field: {"X-Team": "a"}})


def test_headers_of_a_server_are_looked_at(tmp_path: Path) -> None:
    spec = {"type": "mcp", "transport": "http", "url": "https://mcp.example/", "headers": {"Host": "evil.example"}}
    artifact = json.dumps({"kind": "Artifact", "metadata": {"name": "far"}, "spec": spec})
    (found,) = of(check(tmp_path, {**call({}), "artifacts/far.yaml": artifact}), "TV111")
    assert found.path == "spec.headers.Host"
    remote = RemoteServer.model_validate(spec)
    server = McpServer(reference="artifact://far@1", spec=remote, folder=str(tmp_path), policy=AddressPolicy())
    with pytest.raises(ConfigError, match="header 'Host' is not for a file to set"):
        remote_endpoint(server, remote, {})
