"""Calls that `tuvl mcp` serves are recorded as runs are, by spans, counters and logs, and stdout stays clean."""

import json

from tests.cli.cli_support import environment
from tests.mcp.test_serving_tools import INITIALIZE, greeted, project, serving  # noqa: F401 - a fixture
from tests.telemetry.collector import collecting


def called(name: str, number: int, **arguments: object) -> bytes:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


async def served(folder, *calls: bytes, **environ: str) -> tuple[list[dict], str]:
    """Answers to these calls, and what was said on stderr."""
    async with serving(folder, "triage", environ=environment(**environ)) as process:
        await greeted(process)
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode() + b"\n")
        answers = []
        for call in calls:
            process.stdin.write(call)
            answers.append(json.loads(await process.stdout.readline()))
        process.stdin.close()
        rest = await process.stdout.read()
        errors = (await process.stderr.read()).decode()
        assert await process.wait() == 0
    assert rest == b""
    return answers, errors


async def test_each_call_is_a_run_with_its_spans_and_counters(project) -> None:  # noqa: F811
    with collecting() as collector:
        answers, errors = await served(
            project,
            called("shout", 2, words="secret words"),
            called("shout", 3, words="more of them"),
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        )
    assert [answer["id"] for answer in answers] == [2, 3]
    names = [span.name for span in collector.spans]
    assert names.count("workflow.execute") == 2
    assert names.count("agent.tool_call") == 2
    assert "tuvl.runs.active" in collector.counters
    assert "secret words" not in errors
    assert not any(b"secret words" in body for bodies in collector.bodies.values() for body in bodies)


async def test_structured_logs_go_to_stderr_and_name_the_run_of_each_call(project) -> None:  # noqa: F811
    _, errors = await served(project, called("shout", 2, words="secret words"), TUVL_LOG_FORMAT="json")
    lines = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    assert lines[0]["event"] == "run.started"
    assert {"run.started", "run.finished"} <= {line["event"] for line in lines}
    assert len({line["run_id"] for line in lines}) == 1
    assert "secret words" not in errors
    assert "tuvl mcp: shout: done, " in errors


async def test_a_collector_that_is_not_there_is_told_and_holds_nothing_up(project) -> None:  # noqa: F811
    answers, errors = await served(
        project, called("shout", 2, words="x"), OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"
    )
    assert answers[0]["result"]
    assert "Traceback" not in errors
