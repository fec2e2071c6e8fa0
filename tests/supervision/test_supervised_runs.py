"""A supervisor's rules and judge in a run: what they do, when, and where it is told."""

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.loop_support import Model, say
from tests.engine.agent_support import model_of, module_of, sent
from tests.engine.run_support import Seen
from tests.guardrails.guard_support import Until
from tests.supervision.supervised import FAIL, PASS, interventions, judge_of, look, recorded, supervised
from tuvl.control import RunControl
from tuvl.errors import ModelError
from tuvl.llm.messages import Price
from tuvl.plan.supervisor import DEFAULT_STEER
from tuvl.settings import Settings


def looked(project) -> list[str]:
    return [args["q"] for _, args in module_of(project).seen]


async def test_a_rule_aborts_before_the_next_call_and_says_so_everywhere(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "count": 2, "then": "abort"}
    project = supervised(tmp_path, look("a", "b", "c"), rules=[rule])
    seen = Seen()
    result = await project.run(sinks=[seen])
    assert (result.status, result.signal, result.exit_code) == ("aborted", "aborted", 4)
    assert looked(project) == ["a", "b"]
    reason = "tool 'look' called 2 times (count: 2)"
    assert result.error is not None
    assert result.error.message == f"aborted by the supervisor (rules[0] tool_repeated): {reason}"
    assert interventions(result) == [("abort", "rules[0] tool_repeated", 1)]
    (event,) = [each for each in seen.events if each.body.type == "supervisor"]
    assert (event.step_id, event.body.action, event.body.source) == ("agent", "abort", "rule")
    assert (event.body.by, event.body.reason, event.body.iteration) == ("rules[0] tool_repeated", reason, 1)
    (row,) = await recorded(project, result.run_id)
    assert (row["action"], row["source"], row["by"], row["reason"]) == ("abort", "rule", event.body.by, reason)
    assert (row["step_id"], row["iteration"], row["message"]) == ("agent", 1, result.error.message)


async def test_a_rule_that_goes_on_holding_speaks_once(tmp_path: Path) -> None:
    """Edge case 60."""
    rule = {"when": "iteration_reached", "gte": 1, "then": "steer"}
    project = supervised(
        tmp_path, look("a"), look("b"), look("c"), say("done"), rules=[rule], steer_message="Finish now."
    )
    result = await project.run(trace=True)
    assert result.status == "completed"
    assert interventions(result) == [("steer", "rules[0] iteration_reached", 1)]
    texts = [[text for text in sent(project, number) if "Finish now." in text] for number in (1, 2, 3, 4)]
    assert [len(each) for each in texts] == [0, 1, 1, 1]
    assert "neither your tools" in texts[1][0]


async def test_a_steer_without_a_message_of_its_own_says_something_sensible(tmp_path: Path) -> None:
    rule = {"when": "iteration_reached", "gte": 1, "then": "steer"}
    project = supervised(tmp_path, look("a"), say("done"), rules=[rule])
    await project.run()
    assert any(DEFAULT_STEER in text for text in sent(project, 2))


async def test_a_steer_that_a_call_brings_about_reaches_the_next_turn(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "tool": "look", "count": 2, "then": "steer"}
    project = supervised(tmp_path, look("a", "b", "c"), say("done"), rules=[rule], steer_message="Enough.")
    result = await project.run(trace=True)
    assert looked(project) == ["a", "b", "c"]
    assert interventions(result) == [("steer", "rules[0] tool_repeated", 1)]
    assert any("Enough." in text for text in sent(project, 2))


async def test_a_paused_run_begins_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "tool": "look", "count": 1, "then": "pause"}
    project, control = supervised(tmp_path, look("a", "b"), say("done"), rules=[rule]), RunControl()
    paused = Until("supervisor")
    run = asyncio.create_task(project.run(control=control, sinks=[paused]))
    async with asyncio.timeout(10):
        await paused.come.wait()
    assert control.paused
    assert looked(project) == ["a"]
    control.resume()
    result = await run
    assert result.status == "completed"
    assert looked(project) == ["a", "b"]


async def test_a_pause_that_nobody_ends_becomes_an_abort(tmp_path: Path) -> None:
    rule = {"when": "iteration_reached", "gte": 1, "then": "pause"}
    project = supervised(tmp_path, look("a"), rules=[rule])
    project.settings = Settings(agent_pause_max_s=0.05)
    result = await project.run()
    assert (result.status, result.signal) == ("aborted", "aborted")
    assert result.error is not None
    assert result.error.message == "paused for more than 0.05 s"


async def test_an_abort_while_paused_is_immediate(tmp_path: Path) -> None:
    """Edge case 55."""
    rule = {"when": "iteration_reached", "gte": 1, "then": "pause"}
    project, control = supervised(tmp_path, look("a"), rules=[rule]), RunControl()
    paused = Until("supervisor")
    run = asyncio.create_task(project.run(control=control, sinks=[paused]))
    async with asyncio.timeout(10):
        await paused.come.wait()
    control.abort("enough")
    result = await run
    assert (result.status, result.error and result.error.message) == ("aborted", "enough")


async def test_of_parallel_calls_no_more_begin_than_the_rule_allows(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "count": 2, "then": "abort"}
    project, seen = supervised(tmp_path, look("a", "b", "c", "d"), rules=[rule], tool_concurrency=4), Seen()
    result = await project.run(sinks=[seen])
    assert result.status == "aborted"
    assert seen.types.count("tool_call_started") <= 2
    assert interventions(result) == [("abort", "rules[0] tool_repeated", 1)]
    assert [row["action"] for row in await recorded(project, result.run_id)] == ["abort"]
    results = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert [entry["call_id"] for entry in results] == ["c1", "c2", "c3", "c4"]


async def test_a_pause_between_parallel_calls_holds_those_that_have_not_begun(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "count": 2, "then": "pause"}
    project = supervised(tmp_path, look("a", "b", "c", "d"), say("done"), rules=[rule], tool_concurrency=4)
    control, paused, seen = RunControl(), Until("supervisor"), Seen()
    run = asyncio.create_task(project.run(control=control, sinks=[seen, paused]))
    async with asyncio.timeout(10):
        await paused.come.wait()
    assert seen.types.count("tool_call_started") <= 2
    control.resume()
    assert (await run).status == "completed"
    assert seen.types.count("tool_call_started") == 4
    assert sorted(looked(project)) == ["a", "b", "c", "d"]


async def test_an_abort_between_parallel_calls_that_are_paused_leaves_nothing_behind(tmp_path: Path) -> None:
    rule = {"when": "tool_repeated", "count": 1, "then": "pause"}
    project = supervised(tmp_path, look("a", "b", "c"), rules=[rule], tool_concurrency=3)
    control, paused = RunControl(), Until("supervisor")
    run = asyncio.create_task(project.run(control=control, sinks=[paused]))
    async with asyncio.timeout(10):
        await paused.come.wait()
    control.abort("enough")
    assert (await run).status == "aborted"  # `run` looks for tasks that are left


@pytest.mark.parametrize(
    ("budget", "spec"),
    [({"token_budget": 100}, {}), ({}, {"limits": {"max_tokens": 100}})],
    ids=["of the agent", "of the run"],
)
async def test_a_part_of_a_budget_counts_whoever_set_it(budget, spec, tmp_path: Path) -> None:
    rule = {"when": "budget_fraction", "gt": 0.5, "then": "abort"}
    project = supervised(tmp_path, look("a", tokens=50), look("b", tokens=1), rules=[rule], spec=spec, **budget)
    result = await project.run()
    assert result.status == "aborted"
    assert looked(project) == ["a"]  # exactly half is not more than half
    assert "51% of a budget used (gt: 0.5)" in result.error.message


async def test_turns_without_progress_are_those_that_bring_nothing_new(tmp_path: Path) -> None:
    """The same call with the same result, a failed call and a refused answer bring nothing; a new argument does."""
    nodes = "from tuvl import node\n\n\n@node('break')\ndef broken(ctx):\n    raise ValueError('no')\n"
    tools = [{"ref": "look", "description": "Look."}, {"ref": "break", "description": "Break."}]
    from tests.agent.loop_support import ask

    replies = [look("a"), look("a"), look("b"), look("b"), ask(("break", {})), say("  "), look("c")]
    rule = {"when": "no_progress", "count": 3, "then": "abort"}
    project = supervised(tmp_path, *replies, rules=[rule], nodes=nodes, tools=tools, answer_retries=2)
    result = await project.run()
    assert result.status == "aborted"
    assert len(model_of(project).requests) == 6
    assert "3 turns in a row brought nothing new (count: 3)" in result.error.message


async def test_the_judge_is_told_counts_and_tool_names_and_no_value(tmp_path: Path) -> None:
    project = supervised(tmp_path, look("a secret question"), say("done"), judge={}, verdicts=[PASS], token_budget=1000)
    result = await project.run({"text": "a secret input"}, trace=True)
    assert result.status == "completed"
    (request,) = judge_of(project).requests
    system, user = [message.content for message in request.messages]
    assert system.endswith("It gets on.")
    told = json.loads(user.splitlines()[1])
    assert told == {
        "iterations": 1,
        "max_iterations": 8,
        "tool_calls": {"look": 1, "put": 0},
        "failed_tool_calls": 0,
        "turns_without_progress": 0,
        "tokens_used": 10,
        "token_budget": 1000,
        "cost_usd": None,
        "cost_budget_usd": None,
    }
    assert "secret" not in user
    assert request.json_answer
    assert not request.tools


async def test_the_judge_s_criteria_are_taken_as_written(tmp_path: Path) -> None:
    project = supervised(
        tmp_path,
        look("a"),
        say("done"),
        judge={"criteria": "artifact://getting-on"},
        verdicts=[PASS],
    )
    project.artifact("getting-on", "steering", "No more than {{ text }}.", template=True)
    await project.run({"text": "a secret input"})
    assert judge_of(project).requests[0].messages[0].content.endswith("No more than {{ text }}.")


@pytest.mark.parametrize("action", ["pause", "steer", "abort"])
async def test_what_the_judge_s_objection_brings_about(action, tmp_path: Path) -> None:
    project = supervised(
        tmp_path, look("a"), say("done"), judge={"on_violation": action}, verdicts=[FAIL], steer_message="Go on."
    )
    project.settings = Settings(agent_pause_max_s=0.05)
    seen = Seen()
    result = await project.run(sinks=[seen], trace=True)
    assert result.status == ("completed" if action == "steer" else "aborted")
    assert interventions(result) == [(action, "test/judge", 1)]
    (event,) = [each.body for each in seen.events if each.body.type == "supervisor"]
    assert (event.source, event.reason) == ("judge", "the judge objects")
    if action == "steer":
        assert any("Go on." in text for text in sent(project, 2))
    assert "it repeats itself" not in json.dumps(result.to_json())


async def test_a_judge_looks_after_every_n_turns_only(tmp_path: Path) -> None:
    replies = [look("a"), look("b"), look("c"), look("d"), say("done")]
    project = supervised(tmp_path, *replies, judge={"every_n_iterations": 2}, verdicts=[PASS, PASS])
    result = await project.run(trace=True)
    assert result.status == "completed"
    asked = [(entry["type"], entry["iteration"]) for entry in result.trace if entry["type"] == "judge_call"]
    assert asked == [("judge_call", 2), ("judge_call", 4)]


async def test_a_verdict_that_cannot_be_read_is_an_objection(tmp_path: Path) -> None:
    project = supervised(tmp_path, look("a"), judge={"on_violation": "abort"}, verdicts=[say("looks fine to me")])
    result = await project.run()
    assert result.error.message == "aborted by the supervisor (test/judge): the judge's verdict cannot be read"


OUTAGE = ModelError("down", type="authentication", retryable=False)


@pytest.mark.parametrize(("policy", "status"), [("ignore", "completed"), ("pause", "aborted"), ("abort", "aborted")])
async def test_a_judge_that_cannot_be_asked_fails_open_or_closed_as_declared(
    policy, status, tmp_path: Path, caplog
) -> None:
    """Edge case 60."""
    project = supervised(tmp_path, look("a"), say("done"), judge={"on_judge_error": policy}, verdicts=[OUTAGE])
    project.settings = Settings(agent_pause_max_s=0.05)
    with caplog.at_level(logging.WARNING, logger="tuvl.supervision"):
        result = await project.run(trace=True)
    assert result.status == status
    (call,) = [entry for entry in result.trace if entry["type"] == "judge_call"]
    assert (call["artifact"], call["site"], call["verdict"]) == ("supervisor", "turns", "unanswered")
    assert call["error_type"] == "authentication"
    assert ("on_judge_error is ignore" in caplog.text) == (policy == "ignore")


async def test_a_judge_that_takes_too_long_is_an_outage(tmp_path: Path) -> None:
    async def never(_request):
        await asyncio.Event().wait()

    project = supervised(tmp_path, look("a"), judge={"on_judge_error": "abort"}, verdicts=[never])
    project.settings = Settings(agent_judge_timeout_s=0.05)
    result = await project.run()
    assert result.error.message == "aborted by the supervisor (test/judge): the judge could not be asked (timeout)"


async def test_an_abort_while_the_judge_is_asked_cancels_the_call(tmp_path: Path) -> None:
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(_request):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    project, control = supervised(tmp_path, look("a"), judge={}, verdicts=[slow]), RunControl()
    run = asyncio.create_task(project.run(control=control))
    async with asyncio.timeout(10):
        await asked.wait()
    control.abort("enough")
    assert (await run).status == "aborted"
    assert cancelled.is_set()


async def test_what_a_judge_uses_is_the_agent_s_use_and_kept_like_that_of_other_judges(tmp_path: Path) -> None:
    project = supervised(tmp_path, look("a"), say("done"), judge={}, verdicts=[PASS], audit=True)
    result = await project.run(trace=True)
    assert (result.usage.llm_calls, result.usage.total_tokens) == (3, 30)
    (call,) = await recorded(project, result.run_id, "judge_call")
    assert (call["artifact"], call["site"], call["verdict"], call["total_tokens"]) == (
        "supervisor",
        "turns",
        "passed",
        10,
    )


async def test_a_judge_may_use_up_the_budget(tmp_path: Path) -> None:
    verdict = replace(PASS, usage=replace(PASS.usage, input_tokens=100, total_tokens=100))
    project = supervised(tmp_path, look("a"), judge={}, verdicts=[verdict], token_budget=100)
    assert (await project.run()).signal == "budget_exceeded"


async def test_a_judge_without_a_price_is_refused_where_dollars_are_bounded(tmp_path: Path) -> None:
    project = supervised(tmp_path, judge={}, cost_budget_usd=1.0)
    project.model("never used", price={"input_per_mtok": 1, "output_per_mtok": 1})
    project.model("never used", name="judge", price={"input_per_mtok": 1, "output_per_mtok": 1})
    project.chat_models["default"] = Model([], price=Price(input_per_mtok=1, output_per_mtok=1))
    result = await project.run()
    assert result.error.type == "unpriced_model"
    assert "'test/judge'" in result.error.message


async def test_agents_that_are_not_watched_are_left_alone(tmp_path: Path) -> None:
    rule = {"when": "iteration_reached", "gte": 1, "then": "abort"}
    other = {
        "id": "other",
        "kind": "Agent",
        "mode": "autonomous",
        "agent": {"model": "judge", "steering": "x", "tools": [{"ref": "look", "description": "Look."}]},
        "routes": {"aborted": "END"},
    }
    project = supervised(tmp_path, look("a"), say("done"), verdicts=[say("done")], rules=[rule], watches=("other",))
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text(encoding="utf-8") + f"    - {json.dumps(other)}\n", encoding="utf-8")
    result = await project.run(trace=True)
    assert result.status == "completed"
    assert interventions(result) == []
