"""APICall against a real server: what is sent, what is read, what is repeated, what is said when it fails."""

import asyncio
import base64

import pytest

from tests.http.api_support import Api
from tests.support.clock import START
from tests.support.http_server import Answer, serving
from tuvl import redaction
from tuvl.errors import ConfigError, StepError, TemplateError
from tuvl.http.client import HttpClient

HTML = {"content-type": "text/html; charset=utf-8"}


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())


@pytest.fixture
async def api():
    async with serving() as server:
        http = HttpClient()
        yield Api(server, http)
        await http.aclose()


async def failing(calling) -> StepError:
    with pytest.raises(StepError) as caught:
        await calling
    return caught.value


async def test_json_reply_goes_to_its_key_with_its_status(api):
    api.server.queue({"id": 7, "lines": [{"sku": "a"}]})
    result = await api.call()
    assert result.signal == "default"
    assert result.delta == {"got": {"id": 7, "lines": [{"sku": "a"}]}}
    assert result.engine_keys == {"_api_status_code": 200}


async def test_parts_are_extracted_by_dot_path(api):
    api.server.queue({"lines": [{"sku": "a"}, {"sku": "b", "tags": ["x"]}], "total": None})
    wanted = [
        {"path": "lines.1.sku", "as": "sku"},
        {"path": "lines.1.tags", "as": "tags"},
        {"path": "total", "as": "t"},
    ]
    result = await api.call(response={"extract": wanted})
    assert result.delta == {"sku": "b", "tags": ["x"], "t": None}


@pytest.mark.parametrize("path", ["lines.2.sku", "lines.0.name", "nothing", "lines.x"])
async def test_missing_part_is_an_error_that_names_it(api, path):
    api.server.queue({"lines": [{"sku": "a"}]})
    result = await api.call(response={"extract": [{"path": path, "as": "x"}]})
    assert result.signal == "error"
    assert result.failure.type == "bad_response"
    assert repr(path) in result.failure.message
    assert result.engine_keys == {"_api_status_code": 200}


async def test_request_carries_what_was_rendered(api):
    api.server.queue({})
    await api.call(
        "/orders/{{ id }}?fixed=1",
        method="POST",
        headers={"X-Note": "for {{ who }}", "X-Number": "{{ n }}", "X-Off": "{{ none }}"},
        query={"q": "{{ text }}", "tags": ["a", "{{ n }}"], "flag": True, "off": None, "also_off": "{{ none }}"},
        json={"whole": "{{ order }}", "text": "n is {{ n }}"},
        values={"id": "a/b", "who": "Mara", "text": "x&y=z", "n": 3, "order": {"lines": [1]}, "none": None},
    )
    (request,) = api.server.requests
    assert request.path == "/orders/a%2Fb?fixed=1&q=x%26y%3Dz&tags=a&tags=3&flag=true"
    assert request.headers["x-note"] == "for Mara"
    assert request.headers["x-number"] == "3"
    assert "x-off" not in request.headers
    assert request.headers["content-type"] == "application/json"
    assert request.json == {"whole": {"lines": [1]}, "text": "n is 3"}


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ({"form": {"a": "{{ v }}", "n": 1, "off": None}}, "application/x-www-form-urlencoded", b"a=x%26y&n=1"),
        ({"body": "raw {{ v }} é"}, "text/plain; charset=utf-8", "raw x&y é".encode()),
        ({"json": {"a": "é"}}, "application/json", '{"a":"é"}'.encode()),
    ],
)
async def test_bodies_say_what_they_are(api, body, kind, sent):
    api.server.queue({}, {})
    await api.call(method="POST", values={"v": "x&y"}, **body)
    await api.call(method="POST", values={"v": "x&y"}, headers={"content-type": "application/x-own"}, **body)
    first, second = api.server.requests
    assert (first.headers["content-type"], first.body) == (kind, sent)
    assert second.headers["content-type"] == "application/x-own"


async def test_missing_variable_fails_before_anything_is_sent(api):
    """H06, K03."""
    with pytest.raises(TemplateError, match="order_idd"):
        await api.call("/orders/{{ order_idd }}", method="DELETE", values={"order_id": 1})
    assert api.server.requests == []


@pytest.mark.parametrize("note", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "café", "☃", "a\0b", "\x7f"])
async def test_header_value_that_cannot_be_sent_is_refused_before_and_not_retried(api, note):
    """L04."""
    error = await failing(api.call(headers={"X-Note": "{{ note }}"}, values={"note": note}, retry={"attempts": 3}))
    assert error.type == "invalid_request"
    assert "'X-Note'" in error.message
    assert note not in error.message
    assert (api.server.requests, api.clock.slept) == ([], [])


async def test_mapping_is_no_header_value(api):
    error = await failing(api.call(headers={"X-Note": "{{ note }}"}, values={"note": {"a": 1}}))
    assert error.type == "invalid_request"
    assert "'X-Note'" in error.message


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (Answer(status=204), None),
        (Answer(body=b""), None),
        (Answer(body=b"   "), "   "),
        (Answer(body="<h1>hi</h1>", headers=HTML), "<h1>hi</h1>"),
        (Answer(body='{"a":1}', headers=HTML), '{"a":1}'),
        (Answer(body=b"\xef\xbb\xbf" + b'{"a":1}'), {"a": 1}),
        (Answer(body='{"a":1}', headers={"content-type": "application/problem+json"}), {"a": 1}),
        (Answer(body='{"a":1}', headers={"content-type": "Application/JSON; charset=utf-8"}), {"a": 1}),
        (Answer(body="caf\u00e9".encode("latin-1"), headers={"content-type": "text/plain"}), "caf\u00e9"),
        (
            Answer(body="caf\u00e9".encode("cp1250"), headers={"content-type": "text/plain; charset=cp1250"}),
            "caf\u00e9",
        ),
        (Answer(body="\u2603".encode(), headers={"content-type": 'text/plain; charset="utf-8"'}), "\u2603"),
        (Answer(body=b"abc", headers={"content-type": "text/plain; charset=no-such"}), "abc"),
        (Answer(body='{"a":1} trailing'), '{"a":1} trailing'),
        (Answer(body='{"a": NaN}'), '{"a": NaN}'),
        (Answer(body="<html>oops</html>"), "<html>oops</html>"),
        (Answer(body='"\\ud800"'), '"\\ud800"'),
        (Answer(body="[" * 100_000), "[" * 100_000),
        (Answer(body="7"), 7),
    ],
    ids=lambda item: repr(item)[:60] if isinstance(item, Answer) else "",
)
async def test_every_body_has_a_reading_and_none_is_an_exception(api, answer, value):
    """L05."""
    api.server.queue(answer)
    result = await api.call()
    assert result.signal == "default"
    assert result.delta == {"got": value}
    assert result.engine_keys == {"_api_status_code": answer.status}


async def test_head_request_has_no_body(api):
    async def nothing(writer):
        await writer.drain()

    api.server.queue(Answer(headers={"content-length": "7"}, stream=nothing))
    assert (await api.call(method="HEAD")).delta == {"got": None}


@pytest.mark.parametrize("status", [400, 404, 422, 500])
async def test_other_status_is_an_error_with_status_and_shortened_body(api, status):
    api.server.queue(Answer(status=status, body={"detail": "x" * 5000}))
    result = await api.call("/orders/{{ id }}?api_key=s3cret", values={"id": "private"})
    assert result.signal == "error"
    assert result.delta == {}
    assert result.engine_keys == {"_api_status_code": status}
    failure = result.failure
    assert failure.type == "http_status"
    assert failure.message.startswith(f"GET {api.server.origin}/orders/{{{{ id }}}} answered {status}")
    assert "private" not in failure.message
    assert "s3cret" not in failure.message
    assert failure.detail["status"] == status
    assert len(failure.detail["body"]) <= 2000


async def test_expected_status_is_the_authors_choice(api):
    api.server.queue(Answer(status=404, body={"none": True}), Answer(status=302, body={}), Answer(status=201, body={}))
    accept = {"output_key": "got", "expect_status": [404, "3xx"]}
    assert (await api.call(response=accept)).delta == {"got": {"none": True}}
    assert (await api.call(response=accept)).signal == "default"
    assert (await api.call(response=accept)).failure.type == "http_status"


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"bearer": "${TOKEN}"}, "authorization", "Bearer tok-123456"),
        (
            {"basic": {"username": "me", "password": "${TOKEN}"}},
            "authorization",
            "Basic " + base64.b64encode(b"me:tok-123456").decode(),
        ),
        ({"header": {"name": "X-Api-Key", "value": "${TOKEN}"}}, "x-api-key", "tok-123456"),
    ],
)
async def test_credentials_come_from_the_environment_and_reach_no_message(api, auth, header, value):
    """P04."""
    api.environ["TOKEN"] = "tok-123456"
    api.server.queue(Answer(status=401, body=f"bad credentials: {value}"))
    result = await api.call(auth=auth, headers={"Authorization": "from the template"})
    assert api.server.requests[0].headers[header] == value
    assert "tok-123456" not in str(result)
    assert value not in str(result)


async def test_missing_credential_names_variable_and_field(api):
    with pytest.raises(ConfigError, match=r"http\.auth\.bearer.*NO_TOKEN"):
        await api.call(auth={"bearer": "${NO_TOKEN}"})
    assert api.server.requests == []


async def test_variables_in_templates_are_not_expanded(api):
    api.environ["HOME_SECRET"] = "leaked"
    api.server.queue({})
    await api.call(headers={"X-Note": "${HOME_SECRET}"})
    assert api.server.requests[0].headers["x-note"] == "${HOME_SECRET}"


async def test_reading_call_is_repeated_on_what_was_declared(api):
    api.server.queue(Answer(status=503), Answer(drop=True), Answer(status=429), {"ok": 1})
    result = await api.call(retry={"attempts": 4, "backoff": 0.5})
    assert result.delta == {"got": {"ok": 1}}
    assert api.clock.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("on", "answer", "repeated"),
    [
        ([503], Answer(status=503), True),
        ([503], Answer(status=500), False),
        (["5xx"], Answer(status=500), True),
        (["timeout"], Answer(drop=True), False),
        (["connect"], Answer(drop=True), True),
        ([404], Answer(status=404), True),
    ],
)
async def test_only_declared_failures_are_repeated(api, on, answer, repeated):
    api.server.queue(answer, {"ok": 1})
    try:
        result = await api.call(retry={"attempts": 2, "on": on})
    except StepError:
        assert not repeated
    else:
        assert (result.signal == "default") is repeated
    assert len(api.server.requests) == (2 if repeated else 1)


async def test_last_status_is_the_result_when_attempts_are_used_up(api):
    api.server.queue(Answer(status=503, body="one"), Answer(status=503, body="two"))
    result = await api.call(retry={"attempts": 2})
    assert (result.failure.type, result.failure.detail["body"]) == ("http_status", "two")


@pytest.mark.parametrize(
    ("header", "wait"), [("4", 4.0), ("86400", 30.0), ("garbage", 1.0), ("date", 9.0), ("-1", 1.0)]
)
async def test_retry_after_is_a_floor_of_the_wait(api, header, wait):
    """E10."""
    value = START.replace(second=9).strftime("%a, %d %b %Y %H:%M:%S GMT") if header == "date" else header
    api.server.queue(Answer(status=429, headers={"retry-after": value}), {})
    await api.call(retry={"attempts": 2})
    assert api.clock.slept == [wait]


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_writing_call_whose_reply_is_lost_is_sent_once_and_its_effect_called_unknown(api, method):
    """G05, L06."""
    api.server.queue(Answer(drop=True), {"never": "sent"})
    error = await failing(api.call(method=method, json={"amount": 5}, retry={"attempts": 3}))
    assert len(api.server.requests) == 1
    assert error.type == "connection"
    assert "the effect is unknown" in error.message
    assert error.detail == {"effect": "unknown"}


async def test_writing_call_is_not_repeated_on_a_status_either(api):
    api.server.queue(Answer(status=503), {})
    assert (await api.call(method="POST", json={}, retry={"attempts": 3})).failure.detail["status"] == 503
    assert len(api.server.requests) == 1


async def test_idempotency_key_is_sent_and_makes_a_writing_call_repeatable(api):
    """G05."""
    api.server.queue(Answer(drop=True), Answer(status=503), {"done": True})
    result = await api.call(
        method="POST", json={}, retry={"attempts": 3}, idempotency_key="charge-{{ id }}", values={"id": 7}
    )
    assert result.delta == {"got": {"done": True}}
    assert [request.headers["idempotency-key"] for request in api.server.requests] == ["charge-7"] * 3


async def test_refused_connection_sends_nothing_so_its_effect_is_known(api):
    api.server.close()
    error = await failing(api.call("http://127.0.0.1:9/pay", method="POST", json={}))
    assert error.type == "connection"
    assert error.message == "POST http://127.0.0.1:9/pay: no connection to '127.0.0.1': connection refused"
    assert error.detail == {}


async def test_whole_call_has_one_time_limit(api):
    """L07: a slow drip."""

    async def drip(writer):
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    api.server.queue(Answer(headers={"transfer-encoding": "chunked"}, stream=drip))
    error = await failing(api.call(timeout=0.2))
    assert (error.type, "0.2 s" in error.message) == ("timeout", True)


async def test_silent_server_is_a_timeout_and_a_write_of_unknown_effect(api):
    api.server.queue(Answer(hang=True))
    error = await failing(api.call(method="POST", json={}, timeout=0.2))
    assert (error.type, error.detail) == ("timeout", {"effect": "unknown"})


async def test_endless_response_is_cut_at_the_cap(api):
    """L07."""

    async def endless(writer):
        while True:
            writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await writer.drain()

    api.server.queue(Answer(headers={"transfer-encoding": "chunked"}, stream=endless))
    error = await failing(api.call(max_response_bytes=1_000_000))
    assert error.type == "response_too_large"


async def test_cancelling_closes_the_call_and_the_client_stays_usable(api):
    api.server.queue(Answer(hang=True), {"ok": 1})
    running = asyncio.create_task(api.call())
    async with asyncio.timeout(30):
        await api.server.arrived.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await api.call()).delta == {"got": {"ok": 1}}


async def test_connection_is_kept_and_cookies_are_not(api):
    api.server.queue(Answer(body={}, headers={"set-cookie": "session=abc; Path=/"}), {}, {})
    for _ in range(3):
        await api.call()
    assert api.server.connections == 1
    assert not any("cookie" in request.headers for request in api.server.requests)


async def test_no_task_outlives_a_call(api):
    before = asyncio.all_tasks()
    api.server.queue({}, Answer(drop=True))
    await api.call()
    await failing(api.call())
    assert {task for task in asyncio.all_tasks() - before if "handle" not in repr(task)} == set()
