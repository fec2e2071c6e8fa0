"""What the environment may say of the server, and the port that it listens on."""

import asyncio
import socket

import pytest

from tuvl.errors import ConfigError, UsageError
from tuvl.listening import bind, is_loopback, url_of
from tuvl.settings import JwtSettings, load_settings

GOOD = {"TUVL_JWT_JWKS": "https://signer.test/jwks", "TUVL_JWT_ISSUER": "i", "TUVL_JWT_AUDIENCE": "a"}


def test_a_signer_is_named_with_its_keys_its_name_and_ours():
    assert load_settings({}).jwt is None
    said = load_settings({**GOOD, "TUVL_JWT_LEEWAY_S": "5", "TUVL_JWT_TENANT_CLAIM": "org"}).jwt
    named = JwtSettings(jwks="https://signer.test/jwks", issuer="i", audience="a", leeway_s=5.0, tenant_claim="org")
    assert said == named
    assert named.groups_claim == "groups"
    for local in ("http://localhost:8000/jwks", "http://127.0.0.1/jwks", "http://[::1]:1/x", "keys/jwks.json"):
        assert load_settings({**GOOD, "TUVL_JWT_JWKS": local}).jwt is not None


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({**GOOD, "TUVL_JWT_ISSUER": ""}, "TUVL_JWT_ISSUER is not set"),
        ({**GOOD, "TUVL_JWT_AUDIENCE": " "}, "TUVL_JWT_AUDIENCE is not set"),
        ({**GOOD, "TUVL_JWT_JWKS": ""}, "TUVL_JWT_JWKS is not set"),
        ({**GOOD, "TUVL_JWT_JWKS": "http://signer.test/jwks"}, "https://"),
        ({**GOOD, "TUVL_JWT_JWKS": "http://localhost.evil.test/jwks"}, "https://"),
        ({**GOOD, "TUVL_JWT_LEEWAY_S": "-1"}, "TUVL_JWT_LEEWAY_S"),
        ({"TUVL_JWT_LEEWAY_S": "abc"}, "TUVL_JWT_LEEWAY_S='abc'"),
        ({"TUVL_AGENT_TOOL_TIMEOUT_S": "1_0"}, "TUVL_AGENT_TOOL_TIMEOUT_S='1_0'"),
        ({"TUVL_SERVER_SECRET": "hunter2"}, "TUVL_SERVER_SECRET is shorter"),
    ],
)
def test_what_the_environment_says_amiss_is_told_without_a_secret(environ, said):
    with pytest.raises(ConfigError, match=said) as told:
        load_settings(environ)
    assert "hunter2" not in str(told.value)


def test_the_secret_of_sessions_is_in_no_text_about_the_settings():
    settings = load_settings({"TUVL_SERVER_SECRET": "s" * 32})
    assert settings.server_secret == "s" * 32
    assert "sss" not in repr(settings)


async def test_connections_to_a_port_of_ours_send_small_answers_at_once():
    with bind("127.0.0.1", 0) as listening:
        served: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            served.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        server = await asyncio.start_server(serve, sock=listening)
        _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        assert await served
        writer.close()
        server.close()
        await server.wait_closed()


def test_a_port_is_told_as_a_url_and_one_that_is_taken_is_refused():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert url_of(taken) == f"http://127.0.0.1:{port}"
        with pytest.raises(UsageError, match="--port"):
            bind("127.0.0.1", port)
    assert all(is_loopback(host) for host in ("localhost", "127.8.0.1", "[::1]", "::1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "example.com", "10.0.0.1"))
