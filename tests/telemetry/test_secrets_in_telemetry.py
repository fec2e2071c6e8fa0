"""Keys of a call that fails: whatever goes wrong, they are in no log, span, counter, event, trace or error."""

import json

import pytest

from tests.engine.run_support import Project, Seen
from tests.support.http_server import Answer, serving
from tuvl.telemetry.log_sink import LogSink
from tuvl.telemetry.logs import structured_logs

TOKEN = "bearer-token-5521"
KEY = "query-key-9034"


def call(url: str, **http: object) -> dict:
    auth = {"auth": {"bearer": "${SHOP_TOKEN}"}, "query": {"api_key": "{{ key }}"}}
    return {"id": "fetch", "kind": "APICall", "http": {"url": url, **auth, **http}, "response": {"output_key": "got"}}


def unauthorised(origin: str) -> dict:
    return call(f"{origin}/orders?api_key={{{{ key }}}}")


def unknown_host(origin: str) -> dict:
    return call("http://nobody.invalid/orders?api_key={{ key }}")


def refused_connection(origin: str) -> dict:
    return call("http://127.0.0.1:1/orders?api_key={{ key }}", headers={"x-api-key": "{{ key }}"})


def bad_header(origin: str) -> dict:
    return call(f"{origin}/orders", headers={"x-api-key": "{{ key }}\r\nx-more: 1"})


def bad_header_text(origin: str) -> dict:
    return call(f"{origin}/orders", headers={"x-api-key": "{{ key }}☃"})


FAILURES = [unauthorised, unknown_host, refused_connection, bad_header, bad_header_text]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_key_shows_nowhere_when_its_call_fails(recorded, tmp_path, failure):
    """P04 secret.logs: bearer and `?api_key=`; 401, DNS failure, no connection, a header that cannot be sent."""
    lines, seen = [], Seen()
    async with serving() as server:
        server.queue(Answer(status=401, body={"error": f"bad token {TOKEN}"}))
        project = Project(tmp_path, f"- {json.dumps(failure(server.origin))}")
        project.config(http={"allow_hosts": ["127.0.0.1", "nobody.invalid"]})
        engine = project.engine()
        engine._environ = {"SHOP_TOKEN": TOKEN}
        with structured_logs(lambda line, level: lines.append(line), format="json", level="debug"):
            ended = await engine.run(
                project.plan(), {"key": KEY}, sinks=(seen, LogSink(), *recorded.telemetry.sinks()), trace=True
            )
        await engine.aclose()
    assert ended.status == "failed"
    document = ended.to_json()
    del document["context"]["key"]  # what the caller gave is the caller's
    shown = {
        "result": json.dumps(document),
        "error": repr(ended.error),
        "events": repr(seen.events),
        "logs": "\n".join(lines),
        "telemetry": recorded.everything(),
    }
    assert lines
    assert recorded.one("node.APICall").attributes["error.type"] == ended.error.type
    assert {where for where, text in shown.items() if TOKEN in text or KEY in text} == set()
