"""What the checks say of a supervisor; what they call an error does not compile, and what they pass does."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow
from tests.check.test_agent_rules import agent
from tuvl.errors import ConfigError
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings

RULES = "supervisor: {{ watches: [a], rules: [{}] }}"


def warnings(tmp_path: Path, rule: str, *fields: str) -> list[str]:
    return messages(agent(tmp_path, *fields, head=RULES.format(rule)), "TV412")


@pytest.mark.parametrize(
    ("rule", "fields", "said"),
    [
        ("{ when: iteration_reached, gte: 9, then: abort }", (), "waits for iteration 9"),
        ("{ when: iteration_reached, gte: 3, then: abort }", ("max_iterations: 2",), "`max_iterations` is 2 at most"),
        ("{ when: no_progress, count: 8, then: pause }", (), "waits for 8 turns in a row"),
        ("{ when: tool_repeated, count: 5, then: steer }", ("max_tool_calls: 4",), "`max_tool_calls` is 4 at most"),
        ("{ when: tool_repeated, tool: a, then: steer }", (), "which is no tool of a watched agent"),
        ("{ when: budget_fraction, then: abort }", (), "no watched agent has a budget"),
    ],
)
def test_a_rule_that_can_never_speak_is_told(tmp_path: Path, rule: str, fields: tuple[str, ...], said: str) -> None:
    (message,) = warnings(tmp_path, rule, *fields)
    assert said in message


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("{ when: iteration_reached, gte: 8, then: abort }", ()),
        ("{ when: no_progress, count: 7, then: pause }", ()),
        ("{ when: tool_repeated, count: 4, then: steer }", ("max_tool_calls: 4",)),
        ("{ when: tool_repeated, count: 400, then: steer }", ()),
        ("{ when: tool_repeated, tool: find, then: steer }", ()),
    ],
)
def test_a_rule_at_its_last_chance_is_not(tmp_path: Path, rule: str, fields: tuple[str, ...]) -> None:
    assert warnings(tmp_path, rule, *fields) == []


def test_a_budget_of_the_project_s_policy_is_one(tmp_path: Path) -> None:
    (tmp_path / "tuvl.yaml").write_text(
        "kind: ProjectConfig\nspec: { policy: { max_tokens_per_run: 9000 } }\n", encoding="utf-8"
    )
    assert warnings(tmp_path, "{ when: budget_fraction, then: abort }") == []


def test_a_judge_that_looks_later_than_the_last_turn_is_told(tmp_path: Path) -> None:
    head = "supervisor: { watches: [a], judge: { model: a/b, criteria: Be good., every_n_iterations: 8 } }"
    (message,) = messages(agent(tmp_path, head=head), "TV412")
    assert "no watched agent has a turn after that" in message


@pytest.mark.parametrize(
    ("head", "said", "hint"),
    [
        ("{ watches: [agnet] }", "watches 'agnet', which is no step of this workflow", "agent"),
        ("{ watches: [find] }", "of kind 'Functional'; it watches agents only", "name an agent"),
        ("{ watches: [once] }", "makes a single call; there is no loop to watch", "mode: autonomous"),
        (
            "{ watches: [agent], rules: [{ when: tool_repeated, tool: fnd, then: abort }] }",
            "names the tool 'fnd', which is no step of this workflow",
            "find",
        ),
    ],
)
def test_a_supervisor_that_names_what_cannot_be_watched_is_an_error_and_does_not_compile(
    tmp_path: Path, head: str, said: str, hint: str
) -> None:
    steps = """\
- id: agent
  kind: Agent
  mode: autonomous
  agent: { model: a/b, steering: Work., tools: [{ ref: find, description: Finds. }] }
  routes: { max_iterations: END, aborted: END, error: END }
- { id: once, kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi. } }
- { id: find, kind: Functional, runner: log, message: x }
"""
    report = check(tmp_path, workflow(steps, head=f"supervisor: {head}"))
    (finding,) = [each for each in report.findings if each.code == "TV202"]
    assert said in finding.message
    assert hint in (finding.hint or "")
    project = ProjectIndex(tmp_path)
    document = project.workflow("w")
    assert document is not None
    with pytest.raises(ConfigError, match="supervisor"):
        Engine(project, settings=Settings(), environ={}).plan(document)
