"""How a called workflow ends decides what its caller may do: a change of that is told as if it stood in the caller."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import compared
from tuvl.changes.change import GRAVE

HEAD = (
    "kind: Workflow\nmetadata: { name: NAME }\nspec:\n  input: { type: object, properties: { n: { type: integer } } }\n"
)
PAY = """- { id: pay, kind: APICall, http: { url: "https://pay.example/p", method: POST, json: { n: "{{ n }}" } } }"""
NO = "- { id: no, kind: Functional, runner: fail, message: No. }"
OUT = "- { id: out, kind: Functional, runner: log, message: done, routes: { default: END } }"
STOP = "- { id: stop, kind: Functional, runner: log, message: stopped }"
CALL = """- { id: call, kind: Workflow, workflow: inner, input: { n: "{{ n }}", who: "{{ boss }}" }, """
CALL += "routes: { default: pay, error: stop } }"
PAID = PAY[:-2] + ", routes: { default: END, error: END } }"
SMALL = "- { id: small, kind: Router, condition: { field: n, operator: lt, value: 100 }, "
SMALL += 'routes: { "true": out, "false": no, error: no } }'
ASK = """- { id: ask, kind: HumanInTheLoop, ui: { title: "Pay {{ n }}?" }, auth: { assignee_user: "{{ who }}" },
      timeout_s: 9, signal_from: d, human_feedback: [{ name: d, type: choice, choices: [agree, refuse] }],
      output_key: a, routes: { agree: out, refuse: no, timeout: no, error: no } }"""


def flow(name: str, *steps: str) -> str:
    return HEAD.replace("NAME", name) + "  steps:\n" + "".join(f"    {step}\n" for step in steps)


def project(*inner: str, main: tuple[str, ...] = (CALL, PAID, STOP), **others: str) -> dict[str, str]:
    return {
        "tuvl.yaml": "kind: ProjectConfig\n",
        "workflows/main.yaml": flow("main", *main),
        "workflows/inner.yaml": flow("inner", *inner),
        **{f"workflows/{name}.yaml": text for name, text in others.items()},
    }


def told(folder: Path, old: dict[str, str], new: dict[str, str]) -> set[str]:
    assert old != new
    return {change.code for change, _ in compared(folder, old, new) if change.cls in GRAVE}


def edited(steps: tuple[str, ...], was: str, now: str) -> tuple[str, ...]:
    assert any(was in step for step in steps)
    return tuple(step.replace(was, now) for step in steps)


GUARD = (SMALL, OUT, NO)
ASKED = (ASK, OUT, NO)
LOOSER: list[tuple[str, tuple[str, ...], str, str, str]] = [
    ("threshold", GUARD, "value: 100 ", "value: 100000 ", "write-reached"),
    ("route of a decision", GUARD, '"false": no', '"false": END', "write-reached"),
    ("route of a failure", GUARD, "error: no", "error: out", "write-reached"),
    ("route of an answer", ASKED, "refuse: no", "refuse: END", "approval-weakened"),
    ("question that runs out", ASKED, "timeout: no", "timeout: END", "approval-weakened"),
    ("who is asked", ASKED, "{{ who }}", "{{ n }}", "approval-weakened"),
    ("what is shown", ASKED, "Pay {{ n }}?", "Pay {{ who }}?", "approval-weakened"),
]


@pytest.mark.parametrize(("steps", "was", "now", "code"), [each[1:] for each in LOOSER], ids=[e[0] for e in LOOSER])
def test_workflow_that_lets_its_caller_go_on_where_it_stopped_it_is_told(
    tmp_path: Path, steps: tuple[str, ...], was: str, now: str, code: str
) -> None:
    assert code in told(tmp_path, project(*steps), project(*edited(steps, was, now)))


@pytest.mark.parametrize(("steps", "was", "now"), [each[1:4] for each in LOOSER[:5]], ids=[e[0] for e in LOOSER[:5]])
def test_workflow_whose_end_its_caller_passes_over_is_quiet(
    tmp_path: Path, steps: tuple[str, ...], was: str, now: str
) -> None:
    """No write, or the same write however it ends."""
    new = edited(steps, was, now)
    none = (CALL.replace("default: pay", "default: stop"), STOP)
    both = (CALL.replace("error: stop", "error: pay"), PAID)
    assert told(tmp_path / "none", project(*steps, main=none), project(*new, main=none)) == set()
    if steps is GUARD:
        assert told(tmp_path / "both", project(*steps, main=both), project(*new, main=both)) == set()


TIGHTER = [
    ("threshold", GUARD, "value: 100 ", "value: 10 "),
    ("words of a failure", GUARD, "message: No.", "message: Never."),
]
TIGHTER += [
    ("words of a question", ASKED, "Pay {{ n }}?", "Shall we pay {{ n }}?"),
    ("label", GUARD, "message: done", "message: end"),
]


@pytest.mark.parametrize(("steps", "was", "now"), [each[1:] for each in TIGHTER], ids=[each[0] for each in TIGHTER])
def test_workflow_that_stops_its_caller_more_often_or_says_it_otherwise_is_quiet(
    tmp_path: Path, steps: tuple[str, ...], was: str, now: str
) -> None:
    assert told(tmp_path, project(*steps), project(*edited(steps, was, now))) == set()


def test_end_counts_over_any_number_of_calls_and_what_follows_is_named(tmp_path: Path) -> None:
    main = (CALL.replace("workflow: inner", "workflow: first"), PAID, STOP)
    between = {
        "first": flow(
            "first", CALL.replace("workflow: inner", "workflow: second").replace("default: pay, error: stop", "")
        ),
        "second": flow("second", CALL.replace("default: pay, error: stop", "")),
    }
    old = project(*GUARD, main=main, **between)
    new = project(*edited(GUARD, '"false": no', '"false": END'), main=main, **between)
    (found,) = [change for change, _ in compared(tmp_path, old, new) if change.cls in GRAVE]
    assert (found.code, found.workflow, found.step) == ("write-reached", "inner", "small")
    assert found.message == "step 'small': signal 'false' leads to 'end of inner, then pay of main' now"


def test_failure_counts_where_the_caller_writes_by_it(tmp_path: Path) -> None:
    main = (CALL.replace("default: pay, error: stop", "default: stop, error: pay"), PAID, STOP)
    old = edited(GUARD, "{ default: END }", "{ default: END, error: END }")
    new = edited(old, '"true": out', '"true": no')
    assert "write-reached" in told(tmp_path / "a", project(*old, main=main), project(*new, main=main))
    assert "write-reached" not in told(tmp_path / "b", project(*old), project(*new))


def test_body_of_a_list_that_lets_it_go_on_is_told(tmp_path: Path) -> None:
    each = "- { id: each, kind: ForEach, items: [1, 2], as: row, step: call, routes: { default: pay, error: stop } }"
    main = (each, PAID, STOP, CALL.replace("default: pay, error: stop", ""))
    new = edited(GUARD, '"false": no', '"false": END')
    assert told(tmp_path, project(*GUARD, main=main), project(*new, main=main)) == {"write-reached"}


@pytest.mark.parametrize(
    ("steps", "was", "now", "code"),
    [
        (GUARD, 'n: "{{ n }}"', "n: 1", "write-reached"),
        (ASKED, "{{ boss }}", "{{ n }}", "approval-weakened"),
    ],
    ids=["value that decides", "who is asked"],
)
def test_value_by_which_a_workflow_ends_otherwise_is_told_at_the_call(
    tmp_path: Path, steps: tuple[str, ...], was: str, now: str, code: str
) -> None:
    main = (CALL, PAID, STOP)
    old, new = project(*steps, main=main), project(*steps, main=edited(main, was, now))
    found = [change for change, _ in compared(tmp_path, old, new) if change.cls in GRAVE]
    assert code in {change.code for change in found}
    assert {change.step for change in found} == {"call"}


def test_abort_is_no_end_by_which_a_caller_goes_on(tmp_path: Path) -> None:
    ends = edited(ASKED, "error: no }", "error: no, aborted: END }")
    assert told(tmp_path / "a", project(*ASKED), project(*ends)) == set()
    late = edited(ends, "timeout: no", "timeout: END")
    assert "approval-weakened" in told(tmp_path / "b", project(*ends), project(*late))


def test_step_before_the_call_that_makes_what_a_person_inside_is_shown_is_told_unless_that_is_sent(
    tmp_path: Path,
) -> None:
    prep = "- { id: prep, kind: Functional, runner: set, values: { sum: 1 } }"
    other = prep.replace("sum: 1", "sum: 2")
    call = CALL.replace('n: "{{ n }}"', 'n: "{{ sum }}"').replace("routes:", "output_key: r, routes:")
    for name, sent, codes in (
        ("another", "{{ r.d }}", {"approval-weakened"}),
        ("itself", "{{ sum }}", set[str]()),
    ):
        rest = (call, PAID.replace("{{ n }}", sent), STOP)
        inner = (ASK, "- { id: out, kind: Response, mapping: { d: a.d }, routes: { default: END } }", NO)
        old, new = (project(*inner, main=(each, *rest)) for each in (prep, other))
        assert told(tmp_path / name, old, new) == codes


@pytest.mark.parametrize("back", [False, True], ids=["into a workflow", "out of a workflow"])
def test_write_that_moves_into_a_workflow_or_out_of_one_is_not_told_as_gone_or_new(tmp_path: Path, back: bool) -> None:
    call = CALL.replace("id: call", "id: pay").replace("default: pay, error: stop", "default: END, error: END")
    states = [project(PAY, main=(each, STOP)) for each in (PAID, call)]
    old, new = reversed(states) if back else states
    found = {change.code: change for change, _ in compared(tmp_path, old, new)}
    assert not {"effect-dropped", "write-added"} & found.keys()
    assert ("operation-changed" in found) == back


def test_value_that_a_person_is_shown_for_each_item_is_told_and_one_beside_the_item_is_not(tmp_path: Path) -> None:
    each = "- { id: each, kind: ForEach, items: [1, 2], as: row, step: call, routes: { default: pay, error: stop } }"
    call = CALL.replace("default: pay, error: stop", "").replace("{{ boss }}", "{{ row }}")
    main = (each, PAID, STOP, call)
    shown = edited(main, 'n: "{{ n }}", who', "n: 1, who")
    assert told(tmp_path / "a", project(*ASKED, main=main), project(*ASKED, main=shown)) == {"approval-weakened"}
    noted, other = (edited(main, "input: {", f'input: {{ note: "{text}",') for text in ("{{ n }}", "nothing"))
    assert told(tmp_path / "b", project(*ASKED, main=noted), project(*ASKED, main=other)) == set()
