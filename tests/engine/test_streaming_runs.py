"""Runs whose file says `stream: true`, from the YAML to the events and the result document."""

import asyncio
import json

import pytest

from tests.engine.run_support import Project, Seen
from tests.support.openai_server import call, in_pieces, message, serving
from tuvl.clock import SystemClock
from tuvl.control import RunControl
from tuvl.engine.result import RunResult
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.testing.clock import ManualClock

USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
MASK = {
    "kind": "Artifact",
    "metadata": {"name": "mask"},
    "spec": {"type": "guardrail", "checks": [{"check": "pii_mask"}]},
}


def project(root, **agent: object) -> Project:
    tool = {"ref": "tool", "description": "Looks it up.", "parameters": {"type": "object"}}
    block = {"model": "default", "steering": "Do it.", "tools": [tool], **agent}
    steps = [
        {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": block},
        {"id": "tool", "kind": "Functional", "runner": "set", "values": {"x": 1}},
    ]
    return Project(root).workflow("\n".join(f"- {json.dumps(step)}" for step in steps))


def texts(seen: Seen) -> dict[int, str]:
    said: dict[int, str] = {}
    for event in seen.events:
        if event.body.type == "text_delta":
            said[event.body.iteration] = said.get(event.body.iteration, "") + event.body.text
    return said


def document(result: RunResult) -> dict:
    """The result document without what differs from run to run."""

    def timeless(value):
        if isinstance(value, dict):
            return {name: timeless(item) for name, item in value.items() if name not in {"duration_ms", "run_id"}}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    return timeless(result.to_json())


SCRIPTS = {
    "answer": [message("It is done.", usage=USAGE)],
    "tool, then answer": [
        message("Let me see.", calls=[call("tool", '{"a": 1}')], finish="tool_calls", usage=USAGE),
        message("It is done.", usage=USAGE),
    ],
    "several calls, an unknown one, no usage": [
        message(None, calls=[call("tool"), call("nope", "{}", "c2"), call("tool", '{"a":', "c3")], finish="tool_calls"),
        message("It is done."),
    ],
    "cut off": [message("Half of", finish="length", usage=USAGE)],
    "withheld": [message("", finish="content_filter", usage=USAGE)],
    "nothing": [message("", usage=USAGE)],
}


@pytest.mark.parametrize("lane", ["openai_compatible", "openai"])
@pytest.mark.parametrize("name", SCRIPTS)
async def test_streamed_and_plain_runs_of_one_script_give_the_same_result_and_transcript(tmp_path, lane, name):
    model = {"provider": lane, "model": "local", "api_key": "${KEY}"}
    async with serving() as server:
        results = []
        for stream, answer in ((False, lambda reply: reply), (True, in_pieces)):
            made = project(tmp_path / str(stream), stream=stream)
            made.model(**model, api_base=server.url, replies=None)
            made.environ["KEY"] = "sk-0123456789"
            server.queue(*(answer(reply) for reply in SCRIPTS[name]))
            results.append(document(await run_leaving_the_server(made)))
        assert results[0] == results[1]
        plain, streamed = server.bodies[: len(server.bodies) // 2], server.bodies[len(server.bodies) // 2 :]
        assert [body["messages"] for body in plain] == [body["messages"] for body in streamed]


async def run_leaving_the_server(made: Project) -> RunResult:
    engine = made.engine()
    try:
        return await engine.run(made.plan(), {}, trace=True)
    finally:
        await engine.aclose()


async def test_text_and_tool_names_are_events_only_where_the_file_asks_for_them(tmp_path):
    replies = ({"text": "Let me see.", "tool_calls": [{"name": "tool", "arguments": {"a": 1}}]}, "It is done.")
    kinds = {"text_delta", "tool_call_delta", "stream_end"}
    for stream in (False, True):
        seen = Seen()
        made = project(tmp_path / str(stream), stream=stream).model(*replies)
        assert (await made.run(sinks=[seen])).context["agent_result"] == "It is done."
        assert bool(kinds & set(seen.types)) is stream
    assert texts(seen) == {1: "Let me see.", 2: "It is done."}
    assert [event.body.tool for event in seen.events if event.body.type == "tool_call_delta"] == ["tool"]
    assert seen.types.count("stream_end") == 1
    assert [type for type in seen.types if type in {"stream_end", "outcome", "step_finished"}][-3:] == [
        "stream_end",
        "outcome",
        "step_finished",
    ]


async def test_text_for_an_output_guardrail_is_not_streamed_and_only_the_masked_text_leaves(tmp_path):
    """O01."""
    made = project(tmp_path, stream=True, guardrails={"output": ["artifact://mask@1"]})
    made.model({"text": "Write to user@exa" + "mple.com now."})
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "mask.yaml").write_text(json.dumps(MASK), encoding="utf-8")
    seen = Seen()
    result = await made.run(sinks=[seen])
    assert texts(seen) == {}
    assert [event.body.reason for event in seen.events if event.body.type == "text_withheld"] == ["output_guardrail"]
    assert "user@example.com" not in json.dumps(result.to_json())
    assert result.status == "completed"


async def test_words_of_a_script_come_one_by_one_with_a_pause_between(tmp_path):
    made = project(tmp_path, stream=True).model({"text": "one two three", "word_delay_s": 2})
    clock = made.clock = ManualClock()
    seen = Seen()
    run = asyncio.ensure_future(made.run(sinks=[seen]))
    async with asyncio.timeout(20):
        for _ in range(2):
            await clock.until_someone_sleeps()
            await clock.advance(2)
        await run
    assert clock.slept == [2, 2]
    assert [event.body.text for event in seen.events if event.body.type == "text_delta"] == ["one ", "two ", "three"]


async def test_a_plain_run_of_a_script_does_not_wait_between_words(tmp_path):
    made = project(tmp_path).model({"text": "one two three", "word_delay_s": 1000})
    assert (await made.run()).status == "completed"


async def test_an_abort_while_it_streams_leaves_nothing_running_and_keeps_what_was_said_in_the_trace(tmp_path):
    made = project(tmp_path, stream=True).model({"text": "one two three", "word_delay_s": 1000})
    clock = made.clock = ManualClock()
    control = RunControl()
    run = asyncio.ensure_future(made.run(control=control))
    async with asyncio.timeout(20):
        await clock.until_someone_sleeps()
        control.abort()
        result = await run  # `Project.run` finds every task gone
    assert result.signal == "aborted"
    assert [entry["content"] for entry in result.trace if entry["type"] == "partial_reply"] == ["one "]


async def test_a_steer_that_interrupts_a_stream_leaves_the_text_of_the_cut_off_call_in_the_trace_only(tmp_path):
    """Edge case 87."""
    made = project(tmp_path, stream=True, steer_mode="interrupt")
    made.model({"text": "one two three", "word_delay_s": 1000}, "In short.")
    clock = made.clock = ManualClock()
    control, seen = RunControl(), Seen()
    run = asyncio.ensure_future(made.run(control=control, sinks=[seen], trace=True))
    async with asyncio.timeout(20):
        await clock.until_someone_sleeps()
        control.steer("Be short.")
        result = await run
    assert result.context["agent_result"] == "In short."
    assert [entry["content"] for entry in result.trace if entry["type"] == "partial_reply"] == ["one "]
    assert "stream_reset" in seen.types


async def test_a_summary_that_compaction_asks_for_is_not_streamed(tmp_path):
    compaction = {"max_tokens": 400, "reserve": 1, "trigger_percent": 60, "target_percent": 30, "recent_tail": 1}
    made = project(tmp_path, stream=True, compaction=compaction, steering="Do it. " + "x " * 300)
    made.model(
        {"when": {"contains": "ummar"}, "text": "THE SUMMARY"},
        *({"text": "y " * 150, "tool_calls": [{"name": "tool", "arguments": {"a": n}}]} for n in range(4)),
        "It is done.",
    )
    seen = Seen()
    result = await made.run(sinks=[seen], trace=True)
    assert "SUMMARY" not in "".join(texts(seen).values())
    assert "compaction" in {entry["type"] for entry in result.trace}


@pytest.mark.parametrize("mode", ["record", "replay"])
async def test_a_streamed_run_is_recorded_and_replayed_like_any_other(tmp_path, mode):
    replies = ({"text": "Let me see.", "tool_calls": [{"name": "tool", "arguments": {"a": 1}}]}, "It is done.")
    first, second = project(tmp_path, stream=mode == "record"), tmp_path / "recording.yaml"
    first.model(*replies)
    recorded = await run_with(first, record=second)
    again = project(tmp_path, stream=mode == "replay").model(*replies)
    seen = Seen()
    assert document(await run_with(again, replay=second, sinks=[seen])) == document(recorded)
    assert texts(seen) == ({} if mode == "record" else {1: "Let me see.", 2: "It is done."})


async def run_with(made: Project, *, record=None, replay=None, sinks=()) -> RunResult:
    engine = Engine(
        ProjectIndex(made.root),
        settings=made.settings,
        environ={},
        record=record,
        replay=replay,
        clock=SystemClock(),
    )
    try:
        return await engine.run(made.plan(), {}, sinks=sinks)
    finally:
        await engine.aclose()
