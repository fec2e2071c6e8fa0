"""What people answer in a scenario: a HumanInTheLoop step goes on with it, or the run waits."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_support import write
from tests.scenarios.scenario_support import Command, Told
from tuvl.__main__ import main

WORKFLOW = """\
kind: Workflow
metadata: { name: w }
spec:
  limits: { max_steps: 20, timeout_s: 60 }
  input: { type: object, additionalProperties: false, required: [n], properties: { n: { type: integer } } }
  steps:
    - id: ask
      kind: HumanInTheLoop
      ui: { title: "Pay {{ n }}?", display_context: [n] }
      human_feedback:
        - { name: verdict, type: choice, choices: ["yes", "no", again], required: true }
        - { name: note, type: string, required: false }
      signal_from: verdict
      timeout_s: 60
      output_key: said
      routes: { "yes": paid, "no": END, again: ask, timeout: END, error: END }
    - id: paid
      kind: Functional
      runner: set
      values: { paid: "{{ n }}", note: "{{ said.note }}" }
"""
OUTER = """\
kind: Workflow
metadata: { name: outer }
spec:
  limits: { max_steps: 20, timeout_s: 60 }
  steps:
    - { id: inner, kind: Workflow, workflow: w, input: { n: 3 }, output_key: out, routes: { error: END } }
"""


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def scenario(text: str, *words: str, workflow: str = "w") -> Told:
        head = f"kind: WorkflowTest\nmetadata: {{ name: t }}\nspec:\n  workflow: {workflow}\n"
        head += "  input: { n: 7 }\n" if workflow == "w" else ""
        files = {"workflows/w.yaml": WORKFLOW, "workflows/outer.yaml": OUTER, "tests/t.yaml": head + text}
        monkeypatch.chdir(write(tmp_path, files))
        return Command(capfd)(*words)

    return scenario


def test_answer_goes_where_its_signal_leads(run: Any) -> None:
    told = run(
        "  answers: { ask: { verdict: 'yes', note: fine } }\n"
        "  expect: { status: completed, steps: [ask, paid], context: { paid: 7, note: fine, said: { note: fine } } }\n"
    )
    assert told.code == 0, told.out
    assert run("  answers: { ask: { verdict: 'no' } }\n  expect: { steps: [ask], signal: 'no' }\n").code == 0


def test_list_answers_each_time_that_the_step_asks(run: Any) -> None:
    answers = "  answers: { ask: [{ verdict: again }, { verdict: again }, { verdict: 'yes', note: x }] }\n"
    assert run(answers + "  expect: { steps: [ask, ask, ask, paid], context: { paid: 7 } }\n").code == 0


def test_single_answer_is_given_every_time(run: Any) -> None:
    told = run("  answers: { ask: { verdict: again } }\n  expect: { status: failed, error_type: max_steps }\n")
    assert told.code == 0, told.out


@pytest.mark.parametrize("answers", ["", "  answers: { ask: [{ verdict: again }] }\n"])
def test_run_that_waits_for_a_person_ends_suspended(run: Any, answers: str) -> None:
    assert run(answers + "  expect: { status: suspended, error_type: question }\n").code == 0


def test_answer_that_is_missing_is_told_with_what_is_asked(run: Any) -> None:
    told = run("  expect: { signal: 'yes' }\n")
    assert told.code == 1
    assert "step 'ask' asks a person, and the scenario gives no answer; add `answers: { ask: { verdict: …" in told.out
    assert "--durable" not in told.out
    told = run("  answers: { ask: [{ verdict: again }] }\n  expect: { context: { n: 7 } }\n")
    assert told.code == 1
    assert "t.yaml:6:14: step 'ask' asks a person, and the scenario gives no answer for its question 2" in told.out


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("{ verdict: maybe }", "the answer 'verdict' is none of yes, no, again"),
        ("{ note: fine }", "the answer 'verdict' is missing"),
        ("{ verdict: 'yes', note: 3 }", "the answer 'note' is no text"),
        ("{ verdict: 'yes', other: 3 }", "the answer has 'other', which is not asked"),
    ],
)
def test_answer_that_does_not_fit_fails_the_scenario_whatever_it_expects(run: Any, answer: str, said: str) -> None:
    told = run(f"  answers: {{ ask: [{answer}] }}\n  expect: {{ status: failed }}\n")
    assert told.code == 1
    assert "tests/t.yaml:6:20" in told.out
    assert f"step 'ask': {said}" in told.out


def test_step_of_a_workflow_inside_is_answered_by_its_full_name(run: Any) -> None:
    answers = "  answers: { w/ask: { verdict: 'yes', note: x } }\n"
    told = run(answers + "  expect: { status: completed, context: { out: { paid: 3 } } }\n", workflow="outer")
    assert told.code == 0, told.out
    assert run("  expect: { status: suspended }\n", workflow="outer").code == 0


def test_time_for_an_answer_that_is_over_is_a_stub(run: Any) -> None:
    assert run("  stubs: { ask: { signal: timeout } }\n  expect: { steps: [ask], signal: timeout }\n").code == 0


def test_answer_to_a_step_that_asks_nobody_is_a_mistake_of_the_file(
    run: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    told = run("  answers: { paid: { verdict: 'yes' } }\n  expect: { status: completed }\n")
    assert told.code == 1
    assert "answer 'paid' is for a step of kind Functional, which asks nobody" in told.out
    assert main(["validate"]) == 1
    assert "which asks nobody" in capfd.readouterr().out
