"""What stands on record beside the turns: calls of judges and summaries; and that masks hold there, too."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.guardrails.guard_support import GuardedProject
from tests.sql.conftest import Database
from tests.sql.test_run_records import Reader, conversation, inside
from tuvl.cli.app import app
from tuvl.data.run_rows import TraceFilter
from tuvl.engine.result import RunResult
from tuvl.principal import Principal

CALL = {"tool_calls": [{"name": "look", "arguments": {}}]}
PASS = {"json": {"pass": True, "reason": "because of 4711"}, "usage": {"input_tokens": 100, "output_tokens": 1}}
OUTAGE = {"error": {"type": "authentication", "retryable": False}}
JUDGED = {"tools": ["artifact://fair@1"], "output": ["artifact://fair@1"]}
MASKED = {"output": ["artifact://mask@1"], "tools": ["artifact://mask@1"]}


def judged(root: Path, *verdicts: object, **judge: object) -> GuardedProject:
    project = GuardedProject(root).looking('return {"found": "a secret word"}')
    project.guardrail("fair", {"check": "llm_judge", "model": "judge", "criteria": "Be fair.", **judge})
    return project.model(CALL, "my last word").model(*verdicts, name="judge")


async def kept(project: GuardedProject, result: RunResult) -> list[dict]:
    async with Reader(project) as store:
        return list(await store.trace(result.run_id, TraceFilter()))


async def test_a_judge_s_calls_stand_in_the_trace_and_in_the_audit_without_what_they_judged(tmp_path: Path) -> None:
    project = judged(tmp_path, PASS, PASS).agent(guardrails=JUDGED, audit=True)
    result = await project.run({}, trace=True)
    told = [entry for entry in result.trace if entry["type"] == "judge_call"]
    audited = [entry for entry in await kept(project, result) if entry["type"] == "judge_call"]
    for entries in (told, audited):
        assert [(entry["artifact"], entry["site"], entry["verdict"]) for entry in entries] == [
            ("fair@1", "tools", "passed"),
            ("fair@1", "output", "passed"),
        ]
        assert [entry["iteration"] for entry in entries] == [1, 2]
        assert {entry["model"] for entry in entries} == {"judge"}
        for word in ("secret word", "last word", "4711", "Be fair"):
            assert word not in json.dumps(entries)
    assert told[0]["usage"]["total_tokens"] == audited[0]["total_tokens"] == 101
    assert [entry["type"] for entry in result.trace] == [
        *("assistant", "tool_call", "judge_call", "tool_result"),
        *("assistant", "judge_call", "outcome"),
    ]


@pytest.mark.parametrize(
    ("verdict", "judge", "expected"),
    [
        ({"json": {"pass": False, "reason": "because of 4711"}}, {}, ("refused", None)),
        ("nonsense about a secret word", {}, ("unreadable", None)),
        (OUTAGE, {"on_judge_error": "ignore"}, ("unanswered", "authentication")),
        (OUTAGE, {}, ("unanswered", "authentication")),
    ],
    ids=["refused", "unreadable", "overlooked", "an outage"],
)
async def test_what_came_of_a_judge_is_on_record_even_when_it_ends_the_run(verdict, judge, expected, tmp_path) -> None:
    project = judged(tmp_path, verdict, **judge).agent(guardrails={"output": JUDGED["output"]}, audit=True)
    result = await project.run({}, trace=True)
    for entries in (result.trace, await kept(project, result)):
        (entry,) = [entry for entry in entries if entry["type"] == "judge_call"]
        assert (entry["verdict"], entry.get("error_type")) == expected
        assert "secret word" not in json.dumps(entry)


async def test_a_judge_of_the_input_stands_before_the_first_turn(tmp_path: Path) -> None:
    project = judged(tmp_path, PASS).agent(guardrails={"input": ["artifact://fair@1"]}, audit=True)
    result = await project.run({"text": "a secret word"}, trace=True)
    entry = result.trace[0]
    assert (entry["type"], entry["iteration"], entry["site"]) == ("judge_call", 0, "input")
    first, *_ = await kept(project, result)
    assert first["type"] == "judge_call"


async def test_a_judge_of_a_completion_stands_in_its_trace(tmp_path: Path) -> None:
    project = judged(tmp_path, PASS).model("my last word")
    project.agent(mode="completion", guardrails={"output": ["artifact://fair@1"]})
    result = await project.run({"text": "x"}, trace=True)
    assert [entry["type"] for entry in result.trace] == ["assistant", "judge_call", "outcome"]


async def test_what_judges_use_is_summed_up_with_their_conversation(tmp_path: Path) -> None:
    project = judged(tmp_path, PASS, PASS).agent(guardrails=JUDGED, conversation=conversation("chat"))
    result = await project.run({})
    async with Reader(project) as store:
        shown = await store.show(result.run_id, Principal())
    assert shown is not None
    assert shown["conversations"][0]["usage"]["llm_calls"] == result.usage.llm_calls == 4
    assert shown["conversations"][0]["usage"]["total_tokens"] == result.usage.total_tokens


async def test_a_judge_that_did_not_answer_leaves_the_sum_as_it_is(tmp_path: Path) -> None:
    project = judged(tmp_path, OUTAGE, on_judge_error="ignore")
    project.model("done", price={"input_per_mtok": 1, "output_per_mtok": 1})
    project.agent(guardrails={"output": ["artifact://fair@1"]}, conversation=conversation("chat"))
    result = await project.run({})
    async with Reader(project) as store:
        shown = await store.show(result.run_id, Principal())
    assert shown is not None
    usage = shown["conversations"][0]["usage"]
    assert (usage["llm_calls"], usage["cost_usd"]) == (1, result.usage.cost_usd)
    assert usage["cost_usd"] is not None


async def test_a_summary_stands_in_the_audit(tmp_path: Path) -> None:
    project = GuardedProject(tmp_path).looking('return {"found": "x" * 4000}')
    project.model(*[CALL] * 4, "done", name="default").model("all of it, in short", name="short")
    project.agent(
        audit=True,
        compaction={
            "max_tokens": 2600,
            "recent_tail": 1,
            "trigger_percent": 80,
            "target_percent": 50,
            "model": "short",
        },
    )
    result = await project.run({})
    assert result.status == "completed", result.error
    summaries = [entry for entry in await kept(project, result) if entry["type"] == "summary_call"]
    assert summaries
    assert {entry["model"] for entry in summaries} == {"short"}
    assert "in short" not in json.dumps(summaries)


async def test_what_a_model_says_is_masked_in_audit_and_conversation_where_its_answer_is(
    database: Database, tmp_path: Path
) -> None:
    project = GuardedProject(tmp_path).looking('raise ValueError("no mail for ada@example.com")')
    if database.type == "postgresql":
        project.settings = type(project.settings)(database_url=database.connection)
    project.guardrail("mask", {"check": "pii_mask", "fields": ["iban"]})
    project.model(
        {
            "text": "I write to ada@example.com",
            "tool_calls": [{"name": "look", "arguments": {"to": "ada@example.com", "iban": "DE02"}}],
        },
        "written to ada@example.com",
    )
    project.agent(guardrails=MASKED, audit=True, conversation=conversation("chat"), stream=True)
    result = await project.run({}, trace=True)
    assert result.status == "completed", result.error
    async with Reader(project) as store:
        trace = await store.trace(result.run_id, TraceFilter())
        messages = await store.conversation("chat", Principal())
    for recorded in (trace, messages, result.trace):
        text = json.dumps(recorded)
        assert "ada@example.com" not in text
        assert "DE02" not in text
        assert "I write to" in text
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant"]


async def test_a_node_that_keeps_the_conversation_is_given_what_is_masked(tmp_path: Path) -> None:
    project = GuardedProject(tmp_path)
    project.guardrail("mask", {"check": "pii_mask"}).model("written to ada@example.com")
    project.node(
        'from tuvl import node\n\n@node("keep")\ndef keep(ctx):\n'
        '    with open("kept.txt", "a") as file:\n        file.write(str(ctx.args["messages"]))\n    return {}\n',
        file="keep.py",
    )
    project.agent(guardrails=MASKED, conversation="keep", more="- { id: keep, kind: Functional, runner: keep }")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        await project.run({})
    told = (tmp_path / "kept.txt").read_text()
    assert "written to" in told
    assert "ada@example.com" not in told


def test_the_command_tells_of_judges_and_summaries(tmp_path: Path, monkeypatch) -> None:
    project = judged(tmp_path, PASS, PASS).agent(guardrails=JUDGED, audit=True)
    result = asyncio.run(project.run({}))
    with inside(tmp_path, monkeypatch) as cli:
        shown = cli.invoke(app, ["runs", "trace", result.run_id]).stdout
    assert "agent: turn 1 · judge of fair@1 (tools) → passed" in shown
    assert "    asked   judge · 101 tokens" in shown
