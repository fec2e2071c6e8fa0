"""Servers over HTTP: their sessions, their refusals, and where calls may go."""

import json

import pytest

from tests.mcp.mcp_support import calling, remote_server
from tests.support.http_server import serving
from tests.support.mcp_http_server import McpHttpServer
from tuvl import redaction
from tuvl.mcp.fault import McpFault


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())


@pytest.fixture
async def web():
    async with serving(McpHttpServer()) as server:
        yield server


async def failing(call) -> McpFault:
    with pytest.raises(McpFault) as caught:
        await call
    return caught.value


async def test_one_session_serves_all_calls_and_is_ended_with_the_pool(web):
    async with calling(remote_server(web.endpoint)) as call:
        assert [(await call("echo", text=text)).value for text in ("a", "b")] == ["a", "b"]
        assert web.sessions == ["session-1"]
    assert web.sessions == []
    assert web.methods().count("initialize") == 1


async def test_forgotten_session_is_opened_anew_and_the_call_it_refused_unread_is_made(web):
    """J13 mcp.session_404."""
    async with calling(remote_server(web.endpoint)) as call:
        await call("echo", text="a")
        web.sessions.clear()
        assert (await call("echo", text="b")).value == "b"
    assert web.methods().count("initialize") == 2


async def test_server_that_forgets_every_session_is_asked_twice_and_no_more(web):
    """J13 mcp.session_404."""
    web.habits.forgetful = True
    async with calling(remote_server(web.endpoint)) as call:
        fault = await failing(call("echo", text="a"))
    assert web.methods().count("initialize") == 2
    assert web.methods().count("tools/call") == 2
    assert (fault.kind, fault.detail) == ("rejected", {"status": 404})


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_are_no_forgotten_session(web, status):
    """J13 mcp.session_404."""
    web.habits.status = status
    async with calling(remote_server(web.endpoint)) as call:
        fault = await failing(call("echo", text="a"))
        web.habits.status = None
        assert (await call("echo", text="on")).value == "on"
    assert web.methods().count("initialize") == 1
    assert fault.kind == "unauthorized"
    assert fault.message == (
        f"MCP server 'artifact://remote@1' answered the call of 'echo' with {status}; see `headers` of its artifact"
    )


@pytest.mark.parametrize(("status", "kind"), [(401, "unauthorized"), (404, "rejected"), (500, "rejected")])
async def test_refused_greeting_is_told_with_its_status(web, status, kind):
    web.habits.status_of_all = status
    async with calling(remote_server(web.endpoint)) as call:
        fault = await failing(call("echo"))
    assert (fault.kind, fault.detail) == (kind, {"status": status})
    assert f"answered the greeting with {status}" in fault.message


async def test_failed_call_is_not_repeated(web):
    web.habits.status = 503
    async with calling(remote_server(web.endpoint)) as call:
        fault = await failing(call("echo", text="a"))
    assert web.methods().count("tools/call") == 1
    assert (fault.kind, fault.detail) == ("rejected", {"status": 503})


async def test_connection_that_breaks_off_fails_its_call_and_not_the_session(web):
    async with calling(remote_server(web.endpoint)) as call:
        await call("echo", text="a")
        web.habits.drop = True
        fault = await failing(call("echo", text="b"))
        web.habits.drop = False
        assert (await call("echo", text="c")).value == "c"
    assert (fault.kind, fault.sent) == ("connection", True)
    assert "was lost before the whole reply came" in fault.message
    assert web.methods().count("initialize") == 1


async def test_server_that_is_not_there_is_told_by_its_host(web):
    web.close()
    async with calling(remote_server("http://127.0.0.1:9/mcp?key=hush-hush")) as call:
        fault = await failing(call("echo"))
    assert fault.kind == "connection"
    assert fault.message == "MCP server 'artifact://remote@1': no connection to '127.0.0.1': connection refused"


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_private_address_is_refused_unless_the_project_allows_it(web, transport):
    async with calling(remote_server(web.endpoint, transport=transport, allowed=False)) as call:
        fault = await failing(call("echo"))
    assert fault.kind == "connection"
    assert "spec.http.allow_hosts" in fault.message
    assert web.requests == []


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(b"<html>", "bad_response"), (b"[]", "bad_response"), (b"x" * 10_500_000, "response_too_large")],
    ids=["html", "list", "huge"],
)
async def test_answer_that_is_none_fails_its_call_and_not_the_session(web, raw, kind):
    async with calling(remote_server(web.endpoint)) as call:
        web.habits.raw = raw
        fault = await failing(call("echo", text="a"))
        web.habits.raw = None
        assert (await call("echo", text="b")).value == "b"
    assert fault.kind == kind


async def test_compressed_answer_that_was_not_asked_for_is_refused_unread(web):
    async with calling(remote_server(web.endpoint)) as call:
        web.habits.headers = {"content-encoding": "gzip"}
        fault = await failing(call("echo", text="a"))
    assert fault.kind == "bad_response"
    assert all(request.headers["accept-encoding"] == "identity" for request in web.requests)


async def test_headers_go_with_every_request_and_their_secrets_nowhere_else(web):
    web.habits.status = 401
    server = remote_server(web.endpoint, headers={"Authorization": "Bearer ${TOKEN}", "X-Team": "${TEAM:none}"})
    async with calling(server, environ={"TOKEN": "tok-123456789"}) as call:
        fault = await failing(call("echo", text="a"))
    assert {request.headers["authorization"] for request in web.requests} == {"Bearer tok-123456789"}
    assert {request.headers["x-team"] for request in web.requests} == {"none"}
    assert "tok-123456789" not in fault.message + json.dumps(fault.detail)
    assert redaction.redact("tok-123456789") == "***"


async def test_header_that_could_smuggle_another_is_refused_before_anything_is_sent(web):
    server = remote_server(web.endpoint, headers={"X-Note": "${NOTE}"})
    async with calling(server, environ={"NOTE": "a\r\nX-Evil: 1"}) as call:
        fault = await failing(call("echo"))
    assert web.requests == []
    assert (fault.kind, fault.sent) == ("invalid_request", False)
    assert fault.message == "MCP server 'artifact://remote@1': the value of header 'x-note' holds a line break"
