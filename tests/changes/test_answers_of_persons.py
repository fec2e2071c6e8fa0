"""A person has decided where one has answered: a write that comes by another exit of a question is on its own."""

from pathlib import Path

import pytest

from tests.changes.test_authority import HEAD, PAY, STOP, TOOLED, flow
from tests.changes.test_change_classes import W, compared

MAIN = HEAD.replace("name: pay", "name: main")
INNER = HEAD.replace("name: pay", "name: inner")


def ask(name: str, late: str, then: str = "pay") -> str:
    return (
        f"- {{ id: {name}, kind: HumanInTheLoop, ui: {{ title: Pay?, display_context: [x] }}, timeout_s: 9, "
        "signal_from: d, human_feedback: [{ name: d, type: choice, choices: [agree, refuse] }], "
        f"routes: {{ agree: {then}, refuse: stop, timeout: {late}, error: {late} }} }}"
    )


def send() -> str:
    return (
        """- { id: pay, kind: APICall, http: { url: "https://pay.example/p", method: POST, json: { x: "{{ x }}" } } }"""
    )


def calling(late: str, value: int = 1) -> dict[str, str]:
    """A workflow that has another ask, and then writes; that one fails where nobody answers, or does not."""
    return {
        "tuvl.yaml": "kind: ProjectConfig\n",
        "workflows/inner.yaml": f"""{INNER}
    {ask("ask", late, "stop")}
    - {{ id: nobody, kind: Functional, runner: fail, message: Nobody has answered. }}
    {STOP}
""",
        "workflows/main.yaml": f"""{MAIN}
    - {{ id: make, kind: Functional, runner: set, values: {{ x: {value} }} }}
    - {{ id: call, kind: Workflow, workflow: inner, input: {{ x: "{{{{ x }}}}" }} }}
    {send()}
""",
    }


def widened(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [f"{change.code}: {change.message}" for change, _ in compared(tmp_path, old, new) if change.cls is W]


def spine(*steps: str) -> dict[str, str]:
    return {"tuvl.yaml": "kind: ProjectConfig\n", "workflows/pay.yaml": flow(*steps)}


def test_question_in_front_of_an_approval_does_not_stand_for_it_where_nobody_answers(tmp_path: Path) -> None:
    old = spine(TOOLED, PAY, STOP)
    (found,) = widened(tmp_path / "a", old, spine(ask("first", "pay", "helper"), TOOLED, PAY, STOP))
    assert found.startswith(
        "approval-weakened: the run begins elsewhere, and leads to 'pay' without a person having an"
    )
    assert widened(tmp_path / "b", old, spine(ask("first", "stop", "helper"), TOOLED, PAY, STOP)) == []


def test_another_question_counts_by_its_exits(tmp_path: Path) -> None:
    old = spine(ask("ask", "stop"), PAY, STOP)
    (found,) = widened(tmp_path / "a", old, spine(ask("first", "pay", "ask"), ask("ask", "stop"), PAY, STOP))
    assert "leads to 'pay' without a person having answered" in found
    assert widened(tmp_path / "b", old, spine(ask("first", "ask", "ask"), ask("ask", "stop"), PAY, STOP)) == []


def test_workflow_that_may_end_without_an_answer_now_weakens_what_follows_in_its_caller(tmp_path: Path) -> None:
    found = widened(tmp_path / "a", calling("nobody"), calling("stop"))
    said = "approval-weakened: step 'call': workflow 'inner' may come to its end without an answer, and leads to 'pay'"
    assert any(each.startswith(said) for each in found)
    assert widened(tmp_path / "b", calling("stop"), calling("nobody")) == []


@pytest.mark.parametrize(("late", "told"), [("nobody", False), ("stop", True)])
def test_person_asked_inside_has_seen_a_value_where_an_answer_is_the_only_way_to_its_end(
    tmp_path: Path, late: str, told: bool
) -> None:
    found = widened(tmp_path, calling(late), calling(late, value=2))
    assert [each.startswith("approval-weakened") for each in found] == [True] * told


def asking(late: str) -> dict[str, str]:
    make = "- { id: make, kind: Functional, runner: set, values: { x: 1 } }"
    return spine(make, ask("ask", late), send(), STOP)


def test_way_past_a_question_that_is_only_gone_is_not_told(tmp_path: Path) -> None:
    assert widened(tmp_path / "a", asking("pay"), asking("stop")) == []
    assert widened(tmp_path / "b", asking("stop"), asking("pay")) != []
