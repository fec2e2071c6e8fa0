"""Judges of results that come at the same time stand in the trace where the calls do."""

from pathlib import Path

from tests.guardrails.guard_support import GuardedProject
from tuvl.agent.decide import CallTools
from tuvl.agent.exits import Exit
from tuvl.agent.ledger import Ledger
from tuvl.agent.transcript import Transcript
from tuvl.guardrails.guard import JudgeCall, Post
from tuvl.llm.messages import Message
from tuvl.tools.arguments import read_arguments
from tuvl.tools.batch import CallBatch
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import JsonObject

CALLS = tuple(RequestedCall(id=name, name="look", arguments=read_arguments({})) for name in ("a", "b", "c"))


def judge(model: str, site: str = "tools") -> JudgeCall:
    return JudgeCall(
        post=Post(artifact="fair@1", site=site),
        model=model,
        verdict="passed",
        duration_ms=1,
        usage=None,
        error_type=None,
    )


def observation(call_id: str) -> Observation:
    return Observation(call_id=call_id, tool="look", signal="default", content="{}", size=2, truncated=False)


def told(entries: list[JsonObject]) -> list[tuple[object, object]]:
    return [(entry["type"], entry.get("call_id") or entry.get("model")) for entry in entries][3:]


async def begun() -> Ledger:
    ledger = Ledger(transcript=Transcript("agent"))
    await ledger.decided(CallTools(message=Message(role="assistant"), calls=CALLS))
    return ledger


async def judged(ledger: Ledger, *places: int) -> None:
    batch = CallBatch(3)
    for place in places:
        with batch.running(place):
            await ledger.judged(judge("abc"[place]))


async def test_judges_of_calls_stand_in_calling_order_whichever_ended_first() -> None:
    ledger = await begun()
    await judged(ledger, 2, 0, 1, 0)
    for call in CALLS:
        await ledger.answered(call, observation(call.id))
    assert told(ledger.transcript.entries) == [
        ("judge_call", "a"),
        ("judge_call", "a"),
        ("tool_result", "a"),
        ("judge_call", "b"),
        ("tool_result", "b"),
        ("judge_call", "c"),
        ("tool_result", "c"),
    ]


async def test_calls_without_an_answer_stand_in_calling_order_too() -> None:
    ledger = await begun()
    await judged(ledger, 2)
    ledger.closed(Exit(signal="aborted"))
    assert told(ledger.transcript.entries) == [
        ("tool_result", "a"),
        ("tool_result", "b"),
        ("judge_call", "c"),
        ("tool_result", "c"),
        ("outcome", None),
    ]


async def test_judge_of_another_site_stands_where_it_was_asked() -> None:
    ledger = await begun()
    await judged(ledger, 1)
    with CallBatch(3).running(0):  # the input of an agent that is itself one of the calls
        await ledger.judged(judge("input", site="input"))
    assert told(ledger.transcript.entries) == [("judge_call", "b"), ("judge_call", "input")]


async def test_run_with_calls_at_the_same_time_tells_its_judges_in_calling_order(tmp_path: Path) -> None:
    project = GuardedProject(tmp_path).looking('return {"found": ctx.args["what"]}')
    project.guardrail("fair", {"check": "llm_judge", "model": "judge", "criteria": "Be fair."})
    names = ("one", "two", "three")
    calls = [{"name": "look", "arguments": {"what": name}} for name in names]
    passing = {"json": {"pass": True, "reason": "so"}, "usage": {"input_tokens": 1, "output_tokens": 1}}
    replies = [
        {**passing, "when": {"contains": name}, "delay_s": delay, "usage": {"input_tokens": tokens, "output_tokens": 0}}
        for name, delay, tokens in zip(names, (0.1, 0.05, 0), (1, 2, 3), strict=True)
    ]
    project.model({"tool_calls": calls}, "done").model(*replies, name="judge")
    tool = {
        "ref": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    }
    guardrails = {"tools": ["artifact://fair@1"]}
    result = await project.agent(guardrails=guardrails, tool_concurrency=3, tools=[tool]).run({}, trace=True)
    judges = [entry["usage"]["input_tokens"] for entry in result.trace if entry["type"] == "judge_call"]
    assert judges == [1, 2, 3]
    assert [entry["type"] for entry in result.trace][4:-2] == ["judge_call", "tool_result"] * 3
