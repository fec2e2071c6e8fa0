"""A workflow that a step ran, or a router, in place of which another kind of step stands before a write."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import compared
from tests.changes.test_ends_of_workflows import (
    ASK,
    ASKED,
    CALL,
    GUARD,
    OUT,
    PAID,
    SMALL,
    STOP,
    edited,
    flow,
    project,
)
from tuvl.changes.change import Change

LOG = "- { id: call, kind: Functional, runner: log, message: x, routes: { default: pay, error: stop } }"
GET = '- { id: call, kind: APICall, http: { url: "https://pay.example/p" }, routes: { default: pay, error: stop } }'
AGENT = "- { id: call, kind: Agent, mode: completion, agent: { model: m, prompt: Pay?, outcome: { enum: [yes, no] } }, "
AGENT += 'routes: { "yes": pay, "no": stop, error: stop } }'
EACH = "- { id: each, kind: ForEach, items: [1, 2], as: row, step: call, routes: { default: pay, error: stop } }"
BODY = CALL.replace("default: pay, error: stop", "")
DONE = "- { id: done, kind: Functional, runner: log, message: x }"
ROUTER = SMALL.replace("id: small", "id: call").replace(": out", ": pay").replace("no, error: no", "stop, error: stop")
QUESTION = ASK.replace("id: ask", "id: call").replace(": out", ": pay").replace(": no", ": stop")
QUESTION = QUESTION.replace("{{ who }}", "{{ boss }}")


def wider(folder: Path, old: dict[str, str], new: dict[str, str]) -> list[Change]:
    assert old != new
    return [change for change, _ in compared(folder, old, new) if change.cls == "widens authority"]


def told(folder: Path, old: dict[str, str], new: dict[str, str]) -> set[str]:
    return {change.code for change in wider(folder, old, new)}


@pytest.mark.parametrize("now", [LOG, GET, AGENT], ids=["log", "call that reads", "agent"])
@pytest.mark.parametrize(("inner", "code"), [(ASKED, "approval-weakened"), (GUARD, "write-reached")])
def test_workflow_that_asked_or_decided_before_a_write_is_told_where_another_kind_of_step_stands(
    tmp_path: Path, inner: tuple[str, ...], code: str, now: str
) -> None:
    old, new = (project(*inner, main=(each, PAID, STOP)) for each in (CALL, now))
    found = wider(tmp_path, old, new)
    assert {(change.code, change.step) for change in found if "in place of" in change.message} == {(code, "call")}


def test_what_stands_there_and_the_way_to_the_write_are_named(tmp_path: Path) -> None:
    old, new = (project(*ASKED, main=(each, PAID, STOP)) for each in (CALL, LOG))
    (found,) = wider(tmp_path, old, new)
    said = "step 'call': step 'call' (Functional) in place of workflow 'inner': "
    assert found.message == f"{said}leads to 'pay' without a person being asked"
    assert found.after == "call then pay"


QUIET = [
    ("no write", (CALL.replace("default: pay", "default: stop"), STOP), LOG.replace("default: pay", "default: stop")),
    ("write either way", (CALL.replace("error: stop", "error: pay"), PAID), LOG.replace("error: stop", "error: pay")),
    ("write no more", (CALL, PAID, STOP), LOG.replace("default: pay", "default: stop")),
]


@pytest.mark.parametrize(("main", "now"), [each[1:] for each in QUIET], ids=[each[0] for each in QUIET])
def test_workflow_on_whose_end_no_write_depends_may_be_replaced(
    tmp_path: Path, main: tuple[str, ...], now: str
) -> None:
    old, new = (project(*GUARD, main=(each, *main[1:])) for each in (main[0], now))
    assert told(tmp_path, old, new) == set()


READ = '- { id: look, kind: APICall, http: { url: "https://pay.example/l" } }'


@pytest.mark.parametrize("inner", [(OUT,), (READ,)], ids=["log", "call that reads"])
def test_workflow_that_neither_asks_nor_decides_may_be_replaced(tmp_path: Path, inner: tuple[str, ...]) -> None:
    old, new = (project(*inner, main=(each, PAID, STOP)) for each in (CALL, LOG))
    assert told(tmp_path, old, new) == set()


@pytest.mark.parametrize(("inner", "step"), [(ASKED, QUESTION), (GUARD, ROUTER)], ids=["question", "decision"])
def test_workflow_in_place_of_which_its_question_or_decision_stands_itself_is_quiet(
    tmp_path: Path, inner: tuple[str, ...], step: str
) -> None:
    old, new = (project(*inner, main=(each, PAID, STOP)) for each in (CALL, step))
    assert told(tmp_path / "out", old, new) == set()
    if inner is GUARD:
        assert told(tmp_path / "into", new, old) == set()


def test_decision_that_lets_more_pass_where_it_moves_out_of_a_workflow_or_into_one_is_told(tmp_path: Path) -> None:
    more = ROUTER.replace("value: 100", "value: 900")
    old, new = (project(*GUARD, main=(each, PAID, STOP)) for each in (CALL, more))
    assert told(tmp_path / "out", old, new) == {"write-reached"}
    looser = edited(GUARD, "value: 100", "value: 900")
    old, new = (project(*looser, main=(each, PAID, STOP)) for each in (ROUTER, CALL))
    assert told(tmp_path / "into", old, new) == {"write-reached"}


@pytest.mark.parametrize("now", [LOG, CALL], ids=["log", "workflow that lets all pass"])
def test_router_before_a_write_is_told_where_another_kind_of_step_stands(tmp_path: Path, now: str) -> None:
    old, new = (project(OUT, main=(each, PAID, STOP)) for each in (ROUTER, now))
    assert told(tmp_path / "write", old, new) == {"write-reached"}
    old, new = (project(OUT, main=(each.replace("pay", "stop"), STOP)) for each in (ROUTER, now))
    assert told(tmp_path / "none", old, new) == set()


def test_question_in_place_of_a_router_is_quiet(tmp_path: Path) -> None:
    old, new = (project(OUT, main=(each, PAID, STOP)) for each in (ROUTER, QUESTION))
    assert told(tmp_path, old, new) == set()


GO = "- { id: go, kind: Workflow, workflow: w }"
OTHERS = [
    ("step of another id", (EACH.replace("step: call", "step: done"), PAID, STOP, DONE)),
    ("same id", (EACH, PAID, STOP, DONE.replace("id: done", "id: call"))),
    (
        "other workflow",
        (EACH.replace("step: call", "step: go"), PAID, STOP, "- { id: go, kind: Workflow, workflow: w }"),
    ),
    ("no list", (LOG.replace("id: call", "id: each"), PAID, STOP)),
]


@pytest.mark.parametrize("main", [each[1] for each in OTHERS], ids=[each[0] for each in OTHERS])
@pytest.mark.parametrize(("inner", "code"), [(ASKED, "approval-weakened"), (GUARD, "write-reached")])
def test_body_of_a_list_that_asked_or_decided_is_told_where_another_stands(
    tmp_path: Path, inner: tuple[str, ...], code: str, main: tuple[str, ...]
) -> None:
    others = {"w": flow("w", OUT)}
    old, new = (project(*inner, main=each, **others) for each in ((EACH, PAID, STOP, BODY), main))
    found = wider(tmp_path, old, new)
    assert {(change.code, change.step) for change in found if "in place of" in change.message} == {(code, "each")}


@pytest.mark.parametrize(("inner", "code"), [(ASKED, "approval-weakened"), (GUARD, "write-reached")])
def test_workflow_replaced_within_one_that_is_run_is_told_where_the_caller_writes(
    tmp_path: Path, inner: tuple[str, ...], code: str
) -> None:
    main = (CALL.replace("workflow: inner", "workflow: first"), PAID, STOP)
    calls, logs = BODY, LOG.replace(", routes: { default: pay, error: stop }", "")
    old, new = (project(*inner, main=main, first=flow("first", each)) for each in (calls, logs))
    assert told(tmp_path / "inside", old, new) == {code}
    body = "- { id: each, kind: ForEach, items: [1], step: STEP, routes: { default: pay, error: stop } }"
    run = "- { id: run, kind: Workflow, workflow: first }"
    go = "- { id: go, kind: Workflow, workflow: second, input: { other: 1 } }"
    others = {"first": flow("first", calls), "second": flow("second", logs)}
    old, new = (
        project(*inner, main=(body.replace("STEP", name), PAID, STOP, step), **others)
        for name, step in (("run", run), ("go", go))
    )
    assert code in told(tmp_path / "beside", old, new)


@pytest.mark.parametrize("inner", [ASKED, GUARD], ids=["question", "decision"])
def test_workflow_with_another_name_in_all_that_run_it_is_no_more_than_renamed(
    tmp_path: Path, inner: tuple[str, ...]
) -> None:
    old = project(*inner)
    new = {path: text.replace("inner", "other") for path, text in old.items()}
    assert told(tmp_path, old, new) == {"workflow-called"}


@pytest.mark.parametrize(("inner", "code"), [(ASKED, "approval-weakened"), (GUARD, "write-reached")])
def test_other_workflow_in_place_of_one_is_told_unless_it_does_the_same(
    tmp_path: Path, inner: tuple[str, ...], code: str
) -> None:
    others = {"same": flow("same", *inner), "other": flow("other", OUT)}
    old = project(*inner, **others)
    for name, codes in (("same", set[str]()), ("other", {code})):
        new = project(*inner, main=(CALL.replace("workflow: inner", f"workflow: {name}"), PAID, STOP), **others)
        assert told(tmp_path / name, old, new) - {"workflow-called", "human-step-removed"} == codes


def test_workflow_that_is_run_for_each_of_a_list_in_place_of_once_is_told_where_the_list_may_be_empty(
    tmp_path: Path,
) -> None:
    each = EACH.replace("id: each", "id: call").replace("step: call", "step: one")
    one = BODY.replace("id: call", "id: one")
    old = project(*ASKED)
    new = project(*ASKED, main=(each, PAID, STOP, one))
    assert told(tmp_path / "fixed", old, new) <= {"workflow-called"}
    new = project(*ASKED, main=(each.replace("[1, 2]", '"{{ rows }}"'), PAID, STOP, one))
    assert "approval-weakened" in told(tmp_path / "given", old, new)


def test_one_of_several_writes_that_is_left_after_a_replaced_workflow_is_told(tmp_path: Path) -> None:
    first = PAID.replace("id: pay", "id: a").replace("default: END", "default: pay")
    old = project(*ASKED, main=(CALL.replace("default: pay", "default: a"), first, PAID, STOP))
    new = project(*ASKED, main=(LOG, PAID, STOP, first.replace("default: pay", "default: END")))
    assert "approval-weakened" in told(tmp_path, old, new)
