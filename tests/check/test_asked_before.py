"""A write is behind a person where one has answered, not where one might have: by which exit a question leaves."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages
from tuvl.analysis.answered import is_answer
from tuvl.analysis.steps import StepView, WorkflowView

AGENT = """
kind: Workflow
metadata: { name: work }
spec:
  input: { type: object, required: [text], properties: { text: { type: string } } }
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: own/x
        steering: Work.
        context_injection: [text]
        tools: [{ ref: tool, parameters: { type: object, additionalProperties: false, properties: { w: {} } } }]
      routes: { max_iterations: END }
    - { id: tool, kind: Workflow, description: Does it., workflow: sub, input: { w: "{{ args.w }}" } }
"""
SUB = """
kind: Workflow
metadata: { name: NAME }
spec:
  steps:
"""
SEND = '{ id: send, kind: APICall, danger: true, http: { url: "https://m.example/", method: POST, json: "{{ w }}" } }'
ASK = """{ id: ask, kind: HumanInTheLoop, ui: { title: Pay? }, signal_from: v, timeout_s: 9,
        human_feedback: [{ name: v, type: choice, choices: [y, n] }], routes: { ROUTES } }"""
QUIET = "y: send, n: END, timeout: END"


def ask(routes: str = QUIET) -> str:
    return ASK.replace("ROUTES", routes)


def sub(*steps: str, name: str = "sub") -> str:
    return SUB.replace("NAME", name) + "".join(f"    - {step}\n" for step in steps)


def call(name: str = "inner", routes: str = "error: END") -> str:
    return f'{{ id: call, kind: Workflow, workflow: {name}, input: {{ w: "{{{{ w }}}}" }}, routes: {{ {routes} }} }}'


def told(folder: Path, *steps: str, inner: tuple[str, ...] = (), **files: str) -> tuple[bool, bool]:
    """Whether TV709 and TV702 speak of the agent whose tool runs the steps."""
    given = {"workflows/work.yaml": AGENT, "workflows/sub.yaml": sub(*steps)}
    if inner:
        given["workflows/inner.yaml"] = sub(*inner, name="inner")
    report = check(folder, given | {name.replace("__", "/") + ".yaml": text for name, text in files.items()})
    assert not [finding for finding in report.findings if finding.code < "TV300"], report.findings
    return tuple(any("'tool'" in message for message in messages(report, code)) for code in ("TV709", "TV702"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "routes",
    [
        "y: send, n: END, timeout: send",
        "y: END, n: END, timeout: send",
        "y: send, n: END, timeout: END, error: send",
        "y: send, n: END, timeout: END, aborted: send",
    ],
)
def test_write_that_comes_when_nobody_has_answered_is_told(tmp_path: Path, routes: str) -> None:
    assert told(tmp_path, ask(routes), SEND) == (True, True)


@pytest.mark.parametrize(
    "routes", [QUIET, "y: send, n: send, timeout: END, error: END", "y: send, n: ask, timeout: ask"]
)
def test_write_that_comes_after_an_answer_alone_is_not_told(tmp_path: Path, routes: str) -> None:
    assert told(tmp_path, ask(routes), SEND) == (False, False)


def test_way_past_the_question_is_told(tmp_path: Path) -> None:
    router = "{ id: choose, kind: Router, match: { field: w }, routes: { a: ask, default: send } }"
    assert told(tmp_path, router, ask(), SEND) == (True, True)


def test_question_in_a_workflow_inside_that_fails_unanswered_stands_before_what_follows(tmp_path: Path) -> None:
    stop = "{ id: stop, kind: Functional, runner: fail, message: Nobody. }"
    asked = ask("y: END, n: END, timeout: stop")
    assert told(tmp_path / "a", call(), SEND, inner=(asked, stop)) == (False, False)
    assert told(tmp_path / "b", call(routes="error: send"), SEND, inner=(asked, stop)) == (True, True)
    asked = ask("y: END, n: END, timeout: END")
    assert told(tmp_path / "c", call(), SEND, inner=(asked,)) == (True, True)


def test_workflow_inside_that_is_aborted_goes_on_nowhere(tmp_path: Path) -> None:
    stop = "{ id: stop, kind: Functional, runner: fail, message: Nobody. }"
    note = "{ id: note, kind: Functional, runner: log, message: aborted, routes: { default: END } }"
    for name, target in (("a", "END"), ("b", "note")):
        asked = ask(f"y: END, n: END, timeout: stop, error: stop, aborted: {target}")
        assert told(tmp_path / name, call(), SEND, inner=(asked, stop, note)) == (False, False)
    asked = ask("y: END, n: END, timeout: note, error: stop, aborted: note")
    assert told(tmp_path / "c", call(), SEND, inner=(asked, stop, note)) == (True, True)


def test_question_and_write_in_a_workflow_inside_are_looked_at_there(tmp_path: Path) -> None:
    assert told(tmp_path / "a", call(), inner=(ask(), SEND)) == (False, False)
    assert told(tmp_path / "b", call(), inner=(ask("y: END, n: END, timeout: send"), SEND)) == (True, True)


def test_words_that_leave_after_an_answer_alone_are_not_told_and_others_are(tmp_path: Path) -> None:
    look = '{ id: send, kind: APICall, http: { url: "https://m.example/", query: { q: "{{ w }}" } } }'
    assert told(tmp_path / "a", ask(), look) == (False, False)
    assert told(tmp_path / "b", ask("y: END, n: END, timeout: send"), look) == (False, True)


@pytest.mark.parametrize(("approval", "acts"), [("required", False), ("never", True), ('"{{ args.w }}"', True)])
def test_agent_inside_acts_unasked_unless_every_call_waits_for_approval(
    tmp_path: Path, approval: str, acts: bool
) -> None:
    agent = (
        "{ id: inner, kind: Agent, mode: autonomous, routes: { max_iterations: END }, agent: { model: own/x, "
        f"steering: Work., tools: [{{ ref: send, approval: {approval}, description: Sends. }}] }} }}"
    )
    assert told(tmp_path, agent, SEND)[1] is acts


def test_agent_whose_calls_wait_for_approval_is_no_answer_for_what_follows(tmp_path: Path) -> None:
    agent = (
        "{ id: inner, kind: Agent, mode: autonomous, routes: { max_iterations: END, default: after }, agent: { "
        "model: own/x, steering: Work., tools: [{ ref: send, approval: required, description: Sends. }] } }"
    )
    after = SEND.replace("id: send", "id: after")
    assert told(tmp_path, agent, SEND, after) == (True, True)


def test_list_of_questions_may_be_empty(tmp_path: Path) -> None:
    each = "{ id: each, kind: ForEach, items: '{{ w }}', step: call, routes: { default: send } }"
    stop = "{ id: stop, kind: Functional, runner: fail, message: Nobody. }"
    inner = (ask("y: END, n: END, timeout: stop"), stop)
    assert told(tmp_path, each, call(), SEND, inner=inner) == (True, True)


@pytest.mark.parametrize(
    ("signal", "answered"),
    [
        ("y", True),
        ("default", True),
        ("budget_exceeded", True),
        ("timeout", False),
        ("error", False),
        ("aborted", False),
    ],
)
def test_exits_of_a_question_that_mean_an_answer(signal: str, answered: bool) -> None:
    def step(kind: str) -> StepView:
        return WorkflowView({"spec": {"steps": [{"id": "a", "kind": kind}]}}).by_id["a"]

    assert is_answer(step("HumanInTheLoop"), signal) is answered
    assert not is_answer(step("Agent"), signal)
    assert not is_answer(step("Router"), signal)
