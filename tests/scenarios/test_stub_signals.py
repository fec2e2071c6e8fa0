"""A stub returns what its step can return: a scenario of a way that no run takes proves nothing."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages

STEPS = {
    "agent": "{ kind: Agent, mode: completion, agent: { model: m, prompt: Go., outcome: { enum: [spam, fine] } } }",
    "plain": '{ kind: APICall, http: { url: "https://x.example/a" } }',
    "condition": "{ kind: Router, condition: { field: n, operator: gt, value: 1 } }",
    "match": "{ kind: Router, match: { field: n } }",
    "asked": "{ kind: HumanInTheLoop, human_feedback: [{ name: ok, type: boolean }], signal_from: ok }",
    "node": "{ kind: Functional, runner: unknown }",
}


def project(step: str, stub: str, key: str = "s") -> dict[str, str]:
    steps = f"[{STEPS[step].replace('{', '{ id: s,', 1)}]"
    tested = "outer" if "/" in key else "w"
    return {
        "w.yaml": f"kind: Workflow\nmetadata: {{ name: w }}\nspec: {{ steps: {steps} }}\n",
        "outer.yaml": "kind: Workflow\nmetadata: { name: outer }\n"
        "spec: { steps: [{ id: run, kind: Workflow, workflow: w }] }\n",
        "t.yaml": "kind: WorkflowTest\nmetadata: { name: t }\n"
        f"spec: {{ workflow: {tested}, stubs: {{ {key}: {stub} }}, expect: {{ status: failed }} }}\n",
    }


NEVER = [
    ("agent", "{ signal: junk }", "gives signal 'junk'"),
    ("agent", "{ delta: { x: 1 } }", "names no signal and so gives 'default'"),
    ("agent", "[{ signal: fine }, { signal: fien }]", "gives signal 'fien'"),
    ("plain", "{ signal: timeout }", "gives signal 'timeout'"),
    ("condition", '{ signal: "True" }', "gives signal 'True'"),
    ("asked", "{ signal: timeout }", "gives signal 'timeout'"),
]


@pytest.mark.parametrize(("step", "stub", "said"), NEVER)
def test_stub_that_gives_what_its_step_never_does_is_an_error(tmp_path: Path, step: str, stub: str, said: str) -> None:
    """Fault 29: a renamed outcome left a green scenario that proved nothing."""
    assert messages(check(tmp_path, project(step, stub)), "TV222") == [
        f"the stub of step 's' {said}, which the step never returns"
    ]
    (inside,) = messages(check(tmp_path / "inside", project(step, stub, "w/s")), "TV222")
    assert inside == f"the stub of step 'w/s' {said}, which the step never returns"


SOMETIMES = [
    ("agent", "{ signal: spam }"),
    ("agent", "{ error: It broke. }"),
    ("agent", "{ signal: parse_error }"),
    ("plain", "{ delta: { x: 1 } }"),
    ("plain", "{ signal: aborted }"),
    ("condition", '{ signal: "true" }'),
    ("match", "{ signal: whatever }"),
    ("node", "{ signal: whatever }"),
    ("asked", '{ signal: "false" }'),
]


@pytest.mark.parametrize(("step", "stub"), SOMETIMES)
def test_stub_that_gives_what_its_step_may_return_is_sound(tmp_path: Path, step: str, stub: str) -> None:
    assert messages(check(tmp_path, project(step, stub)), "TV222") == []
