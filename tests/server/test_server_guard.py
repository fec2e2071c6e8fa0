"""What holds for every request: its name, the size and pace of its body, how often it comes, and its headers."""

import asyncio
import json

import pytest

from tests.server.server_support import problem, serving, shop
from tuvl.server.limits import RateLimiter
from tuvl.testing.clock import ManualClock

GREETED = {"workflow": "quick", "input": {"name": "Ada"}}


async def raw(server, text: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes; returns status, head and body of the answer."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text)
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head, body


async def test_a_server_on_the_loopback_answers_under_no_other_name(tmp_path):
    async with serving(shop(tmp_path), allow_hosts=("agents.example",)) as server:
        client = await server.client()
        for name in ("127.0.0.1:1", "localhost", "[::1]:80", "agents.example:8", "LOCALHOST", "localhost."):
            assert (await client.get("/api/runs", headers={"Host": name})).status_code == 200, name
        for name in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[::2]", "a@b", "[", "x:y:z"):
            problem(await client.get("/api/runs", headers={"Host": name}), 421, "wrong-host")
            problem(await client.post("/login", headers={"Host": name}), 421, "wrong-host")
        assert (await client.get("/healthz", headers={"Host": "10.1.2.3"})).status_code == 200


async def test_a_body_that_is_too_large_is_refused_however_it_comes(tmp_path):
    async with serving(shop(tmp_path), max_body_bytes=1000) as server:
        client = await server.client()
        large = json.dumps({**GREETED, "input": {"name": "a" * 2000}}).encode()

        async def pieces():
            for start in range(0, len(large), 100):
                yield large[start : start + 100]

        kind = {"Content-Type": "application/json"}
        for path in ("/api/runs", "/api/greet"):
            problem(await client.post(path, content=large, headers=kind), 413, "too-large")
            problem(await client.post(path, content=pieces(), headers=kind), 413, "too-large")
        assert (await client.post("/api/runs", json=GREETED)).status_code == 200


async def test_a_body_that_does_not_arrive_in_time_is_not_waited_for(tmp_path):
    async with serving(shop(tmp_path), body_timeout_s=0.1) as server:
        token = await server.token()
        head = f"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        status, shown, body = await raw(server, head.encode())
        assert status == 408
        assert b"application/problem+json" in shown
        assert json.loads(body)["type"] == "urn:tuvl:problem:too-slow"


async def test_bodies_that_are_no_json_are_told_and_never_shown(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        kind = {"Content-Type": "application/json"}
        for body in (b"{", b"hunter2", b"\xff\xfe", b"[" * 100_000, b'{"a": 1e999}' * 2, b"1" * 5000):
            for path in ("/api/runs", "/api/greet"):
                answer = await client.post(path, content=body, headers=kind)
                assert answer.status_code in {400, 422}, (body[:20], answer.text)
                assert answer.headers["content-type"] == "application/problem+json"
                assert "hunter2" not in answer.text
        odd = {"workflow": "quick", "input": {"name": "Ada"}}
        text = json.dumps(odd).replace('"Ada"', "NaN")
        problem(await client.post("/api/runs", content=text, headers=kind), 422, "input-refused")
        half = json.dumps(odd).replace('"Ada"', '"\\ud800"')
        problem(await client.post("/api/runs", content=half, headers=kind), 422, "input-refused")


async def test_every_answer_has_the_headers_that_keep_browsers_careful(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client, nobody = await server.client(), server.anyone()
        answers = [
            await client.get("/api/runs"),
            await nobody.get("/api/runs"),
            await nobody.get("/healthz"),
            await nobody.get("/openapi.json"),
            await client.post("/api/runs", json=GREETED),
            await client.get("/api/runs", headers={"Host": "evil.example"}),
        ]
        for answer in answers:
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-frame-options"] == "DENY"
            assert "server" not in answer.headers
            assert "set-cookie" not in answer.headers
            assert "strict-transport-security" not in answer.headers
            assert not [name for name in answer.headers if name.startswith("access-control")]
    async with serving(shop(tmp_path), public_url="https://agents.example") as server:
        answer = await server.anyone().get("/healthz")
        assert answer.headers["strict-transport-security"]


async def test_a_page_of_another_origin_gets_no_leave(tmp_path):
    async with serving(shop(tmp_path)) as server:
        asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        answer = await server.anyone().options("/api/runs", headers=asked)
        assert answer.status_code in {401, 405}
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_principal_that_asks_too_often_waits_and_others_do_not(tmp_path):
    clock = ManualClock()
    async with serving(shop(tmp_path), clock=clock, rate=2.0, burst=3) as server:
        client, other = await server.client(), await server.client(id="other")
        same = await server.client()
        answers = [await client.get("/api/runs") for _ in range(3)]
        assert {answer.status_code for answer in answers} == {200}
        for each in (client, same):
            answer = await each.get("/api/runs")
            problem(answer, 429, "too-often")
            assert answer.headers["retry-after"] == "1"
        assert (await other.get("/api/runs")).status_code == 200
        await clock.advance(0.5)
        assert (await client.get("/api/runs")).status_code == 200
        problem(await client.get("/api/runs"), 429, "too-often")


async def test_tokens_that_open_nothing_cannot_be_tried_without_end_and_good_ones_still_open(tmp_path):
    async with serving(shop(tmp_path), clock=ManualClock()) as server:
        client, guesser = await server.client(), server.anyone(Authorization="Bearer guess")
        statuses = [(await guesser.get("/api/runs")).status_code for _ in range(25)]
        assert statuses == [401] * 20 + [429] * 5
        assert (await client.get("/api/runs")).status_code == 200


def test_a_bucket_fills_no_further_than_its_burst_and_no_rate_is_no_bound():
    clock = ManualClock()
    limiter = RateLimiter(rate=10.0, burst=2, clock=clock)
    assert [limiter.take("a") for _ in range(2)] == [0.0, 0.0]
    assert limiter.take("a") == pytest.approx(0.1)
    clock._elapsed += 3600
    assert [limiter.take("a") > 0 for _ in range(3)] == [False, False, True]
    free = RateLimiter(rate=None, burst=1, clock=clock)
    assert not any(free.take("a") for _ in range(100))


async def test_a_mistake_of_ours_is_told_without_what_it_says(tmp_path, caplog):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()

        async def broken(*args: object) -> None:
            raise RuntimeError("hunter2-secret")

        object.__setattr__(server.services, "reading", type("Broken", (), {"runs": broken, "run": broken})())
        answer = await client.get("/api/runs")
        problem(answer, 500, "internal")
        assert "hunter2" not in answer.text
        assert "Traceback" not in answer.text
        assert "hunter2" in caplog.text, "the log says which"


async def test_what_the_server_counts_is_there_for_prometheus(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        await client.post("/api/runs", json=GREETED)
        await server.anyone().get("/api/runs")
        await client.get("/api/runs/nope")
        answer = await client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        lines = answer.text.splitlines()
        assert 'tuvl_http_requests_total{method="POST",route="/api/runs",status="200"} 1.0' in lines
        assert 'tuvl_http_requests_total{method="GET",route="/api/runs/{run_id}",status="404"} 1.0' in lines
        assert 'tuvl_runs_started_total{durable="false",workflow="quick"} 1.0' in lines
        assert 'tuvl_runs_ended_total{status="completed",workflow="quick"} 1.0' in lines
        assert 'tuvl_requests_refused_total{reason="token"} 1.0' in lines
        assert "tuvl_runs_running 0.0" in lines
        assert "nope" not in answer.text
