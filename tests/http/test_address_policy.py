"""Where calls may go: judged by name, by the address really connected to, and again at every redirect."""

import asyncio

import pytest

from tests.http.api_support import Api
from tests.support.http_server import Answer, serving
from tuvl.errors import StepError
from tuvl.http.address import AddressPolicy
from tuvl.http.client import HttpClient
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpRequest

OPEN = {"deny_private": False}
CLOSED = {"allow_hosts": ()}


class Resolver:
    """Answers from a list of lists, the last one for ever, and keeps what it was asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not found:
            raise OSError("no such host")
        return found


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture
async def client():
    """Makes APIs over clients with a resolver of their own."""
    clients = []

    def make(server, *answers) -> Api:
        http = HttpClient(resolver=Resolver(*answers) if answers else None)
        clients.append(http)
        return Api(server, http)

    yield make
    for http in clients:
        await http.aclose()


async def refused(calling) -> str:
    with pytest.raises(StepError) as caught:
        await calling
    assert caught.value.type == "address_refused"
    return caught.value.message


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"]
)
async def test_loopback_is_refused_however_it_is_written(server, client, host):
    message = await refused(client(server).call(f"http://{host}:{server.port}/", policy=CLOSED))
    assert "spec.http.allow_hosts" in message
    assert server.requests == []


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.1:{port}", "127.*", "*"])
async def test_allowed_address_is_reached(server, client, allowed):
    server.queue({"ok": 1})
    policy = {"allow_hosts": (allowed.format(port=server.port),)}
    assert (await client(server).call(policy=policy)).delta == {"got": {"ok": 1}}


async def test_other_port_than_the_allowed_one_is_refused(server, client):
    await refused(client(server).call(policy={"allow_hosts": (f"127.0.0.1:{server.port + 1}",)}))


async def test_deny_private_false_opens_everything(server, client):
    server.queue({})
    assert (await client(server).call(policy=OPEN)).signal == "default"


async def test_name_that_leads_to_a_private_address_is_refused(server, client):
    """L01."""
    api = client(server, ["127.0.0.1"])
    message = await refused(api.call(f"http://public.example:{server.port}/", policy=CLOSED))
    assert f"'public.example:{server.port}'" in message
    assert server.requests == []


async def test_name_is_resolved_once_and_the_judged_address_is_the_one_connected_to(server, client):
    """L01: a resolver that answers differently the second time has no second time."""
    api = client(server, ["127.0.0.1"], ["10.255.255.1"])
    server.queue({"host": "seen"})
    policy = {"allow_hosts": ("127.0.0.1",)}
    result = await api.call(f"http://public.example:{server.port}/", policy=policy)
    assert result.delta == {"got": {"host": "seen"}}
    assert api.http._resolver.asked == ["public.example"]
    assert server.requests[0].headers["host"] == f"public.example:{server.port}"


async def test_of_several_addresses_only_the_permitted_are_tried(server, client):
    api = client(server, ["169.254.169.254", "127.0.0.1", "10.0.0.1"])
    server.queue({"ok": 1})
    policy = {"allow_hosts": ("127.0.0.1",)}
    assert (await api.call(f"http://mixed.example:{server.port}/", policy=policy)).delta == {"got": {"ok": 1}}


async def test_name_that_does_not_exist_is_a_connection_failure(server, client):
    with pytest.raises(StepError, match="cannot be resolved") as caught:
        await client(server, []).call("http://none.example/", policy=CLOSED)
    assert caught.value.type == "connection"


async def test_redirects_are_off_unless_asked_for(server, client):
    server.queue(Answer(status=302, headers={"location": "/elsewhere"}))
    result = await client(server).call()
    assert (result.failure.type, result.failure.detail["status"]) == ("http_status", 302)


async def test_redirect_to_a_refused_address_is_refused(server, client):
    """L01."""
    async with serving() as secret:
        secret.queue({"secret": 1})
        server.queue(Answer(status=302, headers={"location": f"{secret.origin}/secret"}))
        policy = {"allow_hosts": (f"127.0.0.1:{server.port}",)}
        await refused(client(server).call(policy=policy, follow_redirects=True))
        assert secret.requests == []


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://x/", "http://[::1", "http://user:pw@127.0.0.1/"])
async def test_redirect_to_what_is_no_plain_http_url_is_refused(server, client, location):
    server.queue(Answer(status=302, headers={"location": location}))
    with pytest.raises(StepError) as caught:
        await client(server).call(follow_redirects=True)
    assert caught.value.type in {"invalid_request", "bad_response"}


async def test_redirect_within_the_origin_keeps_credentials_and_another_loses_them(server, client):
    async with serving() as other:
        server.queue(Answer(status=307, headers={"location": "/second"}))
        server.queue(Answer(status=307, headers={"location": f"{other.origin}/third"}))
        other.queue({"ok": 1})
        api = client(server)
        api.environ["KEY"] = "key-123456"
        result = await api.call(
            auth={"header": {"name": "X-Key", "value": "${KEY}"}},
            headers={"Authorization": "Basic x", "X-Plain": "stays"},
            follow_redirects=True,
        )
        assert result.delta == {"got": {"ok": 1}}
        second, third = server.requests[1].headers, other.requests[0].headers
        assert (second["x-key"], second["authorization"]) == ("key-123456", "Basic x")
        assert "x-key" not in third
        assert "authorization" not in third
        assert third["x-plain"] == "stays"


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(303, "GET", b""), (302, "GET", b""), (307, "POST", b'{"a":1}'), (308, "POST", b'{"a":1}')],
)
async def test_method_and_body_follow_the_status(server, client, status, method, body):
    server.queue(Answer(status=status, headers={"location": "/next"}), {})
    await client(server).call(method="POST", json={"a": 1}, follow_redirects=True)
    last = server.requests[-1]
    assert (last.method, last.body, last.path) == (method, body, "/next")
    assert ("content-type" in last.headers) == bool(body)


async def test_redirects_end(server, client):
    server.queue(*[Answer(status=302, headers={"location": "/again"})] * 20)
    with pytest.raises(StepError, match="redirects"):
        await client(server).call(follow_redirects=True)
    assert len(server.requests) == 11


async def test_policy_may_name_the_only_hosts(server, client):
    message = await refused(client(server).call(policy={**OPEN, "only_hosts": ("api.example.com",)}))
    assert "spec.policy.allow_hosts" in message
    server.queue({})
    assert (await client(server).call(policy={**OPEN, "only_hosts": ("127.0.0.1",)})).signal == "default"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1\\@evil/",
        "http://a@127.0.0.1/",
        "http://@127.0.0.1/",
        "http://ex\u0430mple.com/",
        "http://a b/",
    ],
)
async def test_url_two_parsers_could_read_differently_is_not_sent(server, url):
    http = HttpClient()
    with pytest.raises(HttpFault) as caught:
        await http.send(HttpRequest(method="GET", url=url), policy=AddressPolicy(deny_private=False), max_bytes=10)
    assert (caught.value.kind, caught.value.sent) == ("invalid_request", False)
    await http.aclose()


async def test_environment_proxies_are_not_used_for_calls(server, client, monkeypatch):
    """A proxy's address cannot be judged, and would hide the one that matters."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.queue({"ok": 1})
    assert (await client(server).call()).delta == {"got": {"ok": 1}}


async def test_pinned_connection_still_asks_for_the_urls_own_name_in_tls(client):
    """L01: the address is the judged one, the TLS server name the URL's."""
    hello = asyncio.get_running_loop().create_future()

    async def listen(reader, writer):
        hello.set_result(await reader.read(4096))
        writer.close()

    listener = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    api = client(None, ["127.0.0.1"])
    with pytest.raises(StepError) as caught:
        await api.call(f"https://public.example:{port}/", policy={"allow_hosts": ("127.0.0.1",)})
    listener.close()
    await listener.wait_closed()
    assert caught.value.type == "connection"
    assert b"public.example" in await hello
