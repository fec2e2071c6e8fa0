"""What is proved holds for single calls, judges, lists, workflows inside and cycles, too."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bounds.bounded_project import ENDS, agent_step, attack, broken_bounds, figures, priced, project_of
from tests.support.adversary import Adversary, Bill

LETTERS = {"x": 1, '"': 2, "\u20ac": 3, "\x01": 6}
"""Letters of a text → bytes that each takes in the context."""

PROMPTS = [
    "Say.",
    "{{ text }}",
    "{{ text }} and {{ text }}",
    "{{ text | upper }}",
    "{% if text %}{{ text }}{% else %}{{ other | default('none') }}{% endif %}",
    "{% for n in [1, 2, 3] %}{{ text }}{% endfor %}",
    "{{ text ~ text }} {{ text | length }}",
]


def completion(**agent: object) -> str:
    fields = {"model": "default", "outcome": {"write": "said"}, **agent}
    ends = ("error", "aborted", "timeout", "budget_exceeded", "guardrail_violation", "parse_error")
    step = {"id": "agent", "kind": "Agent", "mode": "completion", "agent": fields, "routes": dict.fromkeys(ends, "END")}
    return f"- {json.dumps(step)}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    system=st.sampled_from([None, "Speak.", "{% if text %}Speak.{% else %}Be silent.{% endif %}"]),
    prompt=st.sampled_from(PROMPTS),
    skills=st.lists(st.sampled_from(["Be short.", "Be kind."]), max_size=2),
    injected=st.booleans(),
    attempts=st.integers(1, 3),
    on=st.sampled_from([["timeout", "error"], ["parse_error"], ["error", "parse_error"]]),
    output=st.integers(60, 400),
    letter=st.sampled_from(sorted(LETTERS)),
    full=st.just(1.0) | st.floats(0, 1),
)
def test_no_single_call_exceeds_what_is_proved_of_it(
    system, prompt, skills, injected, attempts, on, output, letter, full
) -> None:
    fields = {"prompt": prompt, "skills": skills, "max_output_tokens": output}
    fields |= {"retry": {"attempts": attempts, "on": on, "backoff": 0}, "outcome": {"format": "json"}}
    fields |= {"system": system} if system else {}
    fields |= {"context_injection": ["text"]} if injected else {}
    with tempfile.TemporaryDirectory() as root:
        project = project_of(Path(root), completion(**fields), limits={"max_context_bytes": 3000})
        text = letter * int(full * 2980 / LETTERS[letter])
        failing = attempts if "error" in on else 1
        bill, calls = asyncio.run(attack(project, "answer", text=text or " ", output=output, attempts=failing))
        assert bill.calls
        assert broken_bounds(bill, calls, figures(project)) == []


async def test_single_call_comes_near_to_what_is_proved_of_it(tmp_path: Path) -> None:
    fields = {"prompt": "{{ text }}", "max_output_tokens": 4000, "retry": {"attempts": 3, "backoff": 0}}
    project = project_of(tmp_path, completion(**fields), limits={"max_context_bytes": 60_000})
    spend = figures(project).proved.spend
    bill, _ = await attack(project, "answer", text="x" * 59_980, output=4000, attempts=3)
    assert 0.95 * spend.total_tokens.value <= bill.total_tokens <= spend.total_tokens.value


@pytest.mark.parametrize("site", ["input", "tools", "output"])
async def test_judges_are_in_the_figures(site: str, tmp_path: Path) -> None:
    steps = agent_step(
        guardrails={site: ["artifact://judged@1"]}, max_iterations=3, max_output_tokens=300, max_calls_per_turn=2
    )
    project = project_of(tmp_path, steps, limits={"max_context_bytes": 2000})
    checks = [{"check": "max_chars", "limit": 130_000}, {"check": "llm_judge", "model": "judge", "criteria": "Calm."}]
    artifact = {"kind": "Artifact", "metadata": {"name": "judged"}, "spec": {"type": "guardrail", "checks": checks}}
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "judged.yaml").write_text(json.dumps(artifact), encoding="utf-8")
    project.model("never used", name="judge", **priced(max_tokens=200))
    bill = Bill()
    project.chat_models["judge"] = Adversary(bill, ["judged"], output=200, attempts=2, name="judge")
    moves = ["calls", "calls", "answer"]
    project.chat_models["default"] = Adversary(bill, moves, output=300, calls=2)
    result = await project.run({"text": "x" * 1980})
    found = figures(project)
    assert result.usage.llm_calls > 3
    assert broken_bounds(bill, result.usage.tool_calls, found) == []
    without = figures(
        project_of(tmp_path / "bare", agent_step(max_iterations=3, max_output_tokens=300, max_calls_per_turn=2))
    )
    assert found.proved.spend.model_calls.value > without.proved.spend.model_calls.value


async def test_list_multiplies_its_agent(tmp_path: Path) -> None:
    steps = "- { id: each, kind: ForEach, items: '{{ text }}', step: agent, max_items: 4, concurrency: 2 }\n"
    steps += completion(prompt="{{ item }} {{ text }}", max_output_tokens=300)
    project = project_of(tmp_path, steps, limits={"max_context_bytes": 2000, "max_tokens": 9000})
    bill = Bill()
    project.chat_models["default"] = Adversary(bill, ["answer"], output=300)
    result = await project.run({"text": ["x" * 480] * 4})
    found = figures(project)
    assert broken_bounds(bill, result.usage.tool_calls, found) == []
    assert (bill.calls, found.proved.unlimited.model_calls.value) == (4, 4)
    assert [(agent.place, agent.times) for agent in found.proved.agents] == [("agent", 4)]


async def test_workflow_inside_counts_each_time(tmp_path: Path) -> None:
    inner = completion(prompt="{{ text }}", max_output_tokens=300)
    call = "- {{ id: {id}, kind: Workflow, workflow: inner, input: {{ text: '{{{{ text }}}}' }} }}"
    project = project_of(
        tmp_path, f"{call.format(id='one')}\n{call.format(id='two')}", limits={"max_context_bytes": 4000}
    )
    project.workflow(inner, name="inner", limits={"max_context_bytes": 2000})
    bill, calls = await attack(project, "answer", text="x" * 1900, output=300)
    found = figures(project)
    assert broken_bounds(bill, calls, found) == []
    assert (bill.calls, found.proved.spend.model_calls.value) == (2, 2)
    assert [agent.place for agent in found.proved.agents] == ["one/agent", "two/agent"]


async def test_workflow_behind_a_tool_counts_for_each_call(tmp_path: Path) -> None:
    fields = {
        "max_iterations": 2,
        "max_output_tokens": 300,
        "max_calls_per_turn": 3,
        "tools": [{"ref": "big", "description": "Ask.", "max_calls": 4}],
    }
    agent = {"model": "default", "steering": "Go.", **fields}
    step = {"id": "agent", "kind": "Agent", "mode": "autonomous", "agent": agent, "routes": dict.fromkeys(ENDS, "END")}
    steps = f"- {json.dumps(step)}\n- {{ id: big, kind: Workflow, workflow: inner, input: {{ text: hi }} }}"
    project = project_of(tmp_path, steps, limits={"max_context_bytes": 2000})
    inner = completion(prompt="{{ text }}", model="other", max_output_tokens=200)
    project.workflow(inner, name="inner", limits={"max_context_bytes": 500}).model("x", name="other", **priced())
    bill = Bill()
    project.chat_models["default"] = Adversary(bill, ["calls"], output=300, calls=3)
    project.chat_models["other"] = Adversary(bill, ["answer"], output=200, name="other")
    result = await project.run({})
    found = figures(project)
    assert broken_bounds(bill, result.usage.tool_calls, found) == []
    assert (bill.calls, found.proved.spend.model_calls.value) == (2 + 4, 2 + 4)


async def test_cycle_runs_as_often_as_max_steps_lets_it(tmp_path: Path) -> None:
    again = completion(prompt="{{ text }}", max_output_tokens=200).replace(
        '"routes": {', '"routes": {"default": "more", '
    )
    steps = (
        f"{again}\n- {{ id: more, kind: Functional, runner: set, values: {{ n: 1 }}, routes: {{ default: agent }} }}"
    )
    project = project_of(tmp_path, steps, limits={"max_context_bytes": 2000, "max_steps": 9})
    bill, calls = await attack(project, "answer", text="hi", output=200)
    found = figures(project)
    assert broken_bounds(bill, calls, found) == []
    assert (bill.calls, found.proved.spend.model_calls.value) == (5, 5)


async def test_limit_of_a_run_holds_with_one_turn_more(tmp_path: Path) -> None:
    steps = "\n".join(
        completion(prompt="{{ text }}", max_output_tokens=500).replace('"id": "agent"', f'"id": "a{number}"')
        for number in range(6)
    ).replace('"budget_exceeded": "END"', '"aborted": "END"')
    project = project_of(tmp_path, steps, limits={"max_context_bytes": 5000, "max_tokens": 12_000})
    bill, calls = await attack(project, "answer", text="x" * 3900, output=500)
    found = figures(project)
    assert broken_bounds(bill, calls, found) == []
    assert found.proved.spend.total_tokens.by[0] == "limits.max_tokens"
    assert found.proved.unlimited.total_tokens.value > found.proved.spend.total_tokens.value
    assert bill.total_tokens > 12_000
