"""Audit and conversation are written as things happen, in order; what cannot be written ends the run."""

import pytest

from tests.agent.loop_support import Loop, ask, boom, say
from tuvl.tools.toolbox import ToolPolicy


class Audit:
    def __init__(self, fail_on=None):
        self.log = []
        self.fail_on = fail_on

    async def completion(self, record):
        self._keep(("completion", record.iteration, record.usage.total_tokens))

    async def tool_call(self, record):
        self._keep(("tool", record.call.id, record.observation.signal))

    def _keep(self, entry):
        if entry[0] == self.fail_on:
            raise OSError("disk full")
        self.log.append(entry)


class Conversation:
    def __init__(self, log=None, fail_at=None):
        self.turns = []
        self.fail_at = fail_at

    async def append(self, messages):
        if len(self.turns) == self.fail_at:
            raise OSError("disk full")
        self.turns.append([message.role for message in messages])


async def test_audit_has_each_completion_then_its_tools_in_call_order():
    audit = Audit()
    await Loop([ask(("lookup", {}), ("nope", {}, "c2")), say("done")], audit=audit).run()
    assert audit.log == [
        ("completion", 1, 10),
        ("tool", "c1", "default"),
        ("tool", "c2", "error"),
        ("completion", 2, 10),
    ]


async def test_audit_has_the_completion_even_when_a_cap_trips_on_it():
    audit = Audit()
    await Loop([ask(("lookup", {}), tokens=99)], token_budget=50, budget_check="after_call", audit=audit).run()
    assert audit.log == [("completion", 1, 99)]


async def test_a_suppressed_twin_is_audited():
    audit = Audit()
    twins = ask(("lookup", {}), ("lookup", {}, "c2"))
    await Loop([twins, say("done")], audit=audit, policy=ToolPolicy(dedup_within_turn=True)).run()
    assert [entry[1] for entry in audit.log if entry[0] == "tool"] == ["c1", "c2"]


@pytest.mark.parametrize("kind", ["completion", "tool"])
async def test_a_failing_audit_ends_the_run(kind):
    ended = await Loop([ask(("lookup", {}))], audit=Audit(fail_on=kind)).run()
    assert (ended.signal, ended.reason.type) == ("error", "audit_failed")
    assert isinstance(ended.reason.cause, OSError)


async def test_conversation_is_opening_assistant_results_answer():
    conversation = Conversation()
    await Loop([ask(("lookup", {}), ("lookup", {}, "c2")), say("done")], conversation=conversation).run()
    assert conversation.turns == [["system", "user"], ["assistant"], ["tool", "tool"], ["assistant"]]


async def test_assistant_turn_is_stored_before_its_calls_run():
    conversation = Conversation()
    seen = []
    loop = Loop(
        [ask(("look", {})), say("done")],
        tools={"look": lambda: seen.append(list(conversation.turns)) or {}},
        conversation=conversation,
    )
    await loop.run()
    assert seen[0][-1] == ["assistant"]


async def test_under_policy_fail_the_results_of_the_failed_turn_are_not_stored():
    conversation = Conversation()
    loop = Loop([ask(("f", {}))], tools={"f": boom}, policy=ToolPolicy(on_error="fail"), conversation=conversation)
    await loop.run()
    assert conversation.turns == [["system", "user"], ["assistant"]]


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_failing_conversation_ends_the_run_where_it_fails(at):
    loop = Loop([ask(("lookup", {}))] if at else [], conversation=Conversation(fail_at=at))
    ended = await loop.run()
    assert (ended.signal, ended.reason.type) == ("error", "conversation_failed")
    assert len(loop.ran) == (1 if at == 2 else 0)


async def test_a_very_long_run_keeps_its_frame_and_loses_its_oldest_texts(monkeypatch):
    monkeypatch.setattr("tuvl.agent.transcript.MAX_CHARS", 500)
    replies = [ask(("lookup", {"n": n}, f"c{n}")) for n in range(20)]
    loop = Loop([*replies, say("done")], tools={"lookup": lambda n: {"x": "y" * 80}}, max_iterations=30)
    await loop.run()
    results = loop.entries("tool_result")
    assert [entry["call_id"] for entry in results] == [f"c{n}" for n in range(20)]
    assert results[0]["content"] is None
    assert results[0]["elided"] is True
    assert "y" in results[-1]["content"]
    assert sum(len(entry["content"] or "") for entry in results) <= 500
