"""A person, an approval, a guardrail or a decision that is passed by widens authority, whatever the way there is."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import W, compared
from tuvl.changes.change import Change

HEAD = "kind: Workflow\nmetadata: { name: pay }\nspec:\n  steps:\n"
PAY = (
    '- { id: pay, kind: APICall, http: { url: "https://pay.example/p", method: POST }, '
    "routes: { default: END, error: stop } }"
)
STOP = "- { id: stop, kind: Functional, runner: set, values: { done: false }, routes: { default: END } }"
ASK = """- id: ask
      kind: HumanInTheLoop
      ui: { title: Pay? }
      human_feedback: [{ name: decision, type: choice, choices: [agree, refuse] }, { name: other, type: boolean }]
      signal_from: decision
      routes: { agree: pay, refuse: stop, error: stop }"""
SIZE = (
    "- { id: size, kind: Router, condition: { field: amount, operator: gt, value: 100 }, "
    'routes: { "true": ask, "false": pay, error: END } }'
)
SORT = "- { id: sort, kind: Router, match: { field: kind }, routes: { refund: ask, payout: ask, default: stop } }"
AGENT = """- id: judge
      kind: Agent
      mode: completion
      agent:
        { model: m, prompt: Judge., guardrails: { output: ["artifact://g@1"] }, outcome: { enum: [fair, unfair] } }
      routes: { fair: pay, unfair: stop, guardrail_violation: stop, error: stop, parse_error: stop, timeout: stop }"""
TOOLED = """- id: helper
      kind: Agent
      mode: autonomous
      agent: { model: m, steering: Help., tools: [{ ref: pay, description: Pays., approval: required }] }
      routes: { default: END, error: END, aborted: END, max_iterations: END }"""
WHEN = (
    '- { id: size, kind: Router, when: [{ if: "{{ amount > 100 }}", signal: big }], '
    "routes: { big: ask, default: pay, error: END } }"
)


def flow(*steps: str) -> str:
    return HEAD + "".join(f"    {step}\n" for step in steps)


def told(tmp_path: Path, old: str, new: str) -> list[Change]:
    files = {"tuvl.yaml": "kind: ProjectConfig\n"}
    found = compared(tmp_path, {**files, "workflows/pay.yaml": old}, {**files, "workflows/pay.yaml": new})
    return [change for change, _ in found if change.cls is W]


SORTED, SIZED = flow(SORT, ASK, PAY, STOP), flow(SIZE, ASK, PAY, STOP)
JUDGED, ASKED = flow(AGENT, PAY, STOP), flow(ASK, PAY, STOP)
TIMED = ASKED.replace("error: stop }\n", "error: stop, timeout: stop }\n      timeout_s: 9\n")
PAID_LATE = ASKED.replace("error: stop }\n", "error: stop, timeout: pay }\n")
MAYBE = TOOLED.replace("approval: required", "approval: '{{ args.cents > 5000 }}'")
MAY_ASK = flow(SORT.replace("stop }", "stop, error: END }"), ASK, PAY, STOP, MAYBE)
WIDER = [
    ("route past a person", SORTED, ("payout: ask", "payout: pay"), "approval-weakened"),
    ("default past a person", SORTED, ("default: stop", "default: pay"), "approval-weakened"),
    (
        "every route past a person",
        SORTED,
        ("refund: ask, payout: ask", "refund: pay, payout: pay"),
        "approval-weakened",
    ),
    ("new kind past a person", SORTED, ("payout: ask", "payout: ask, gift: pay"), "approval-weakened"),
    ("a no that pays", SIZED, ("refuse: stop", "refuse: pay"), "approval-weakened"),
    ("a failed question that pays", SIZED, ("error: stop }\n", "error: pay }\n"), "approval-weakened"),
    ("another answer counts", SIZED, ("signal_from: decision", "signal_from: other"), "approval-weakened"),
    ("higher threshold", SIZED, ("value: 100", "value: 100000"), "approval-weakened"),
    ("the threshold itself", flow(SIZE.replace("gt", "gte"), ASK, PAY, STOP), ("gte", "gt"), "approval-weakened"),
    ("condition turned round", SIZED, ("operator: gt", "operator: lt"), "approval-weakened"),
    ("another field decides", SIZED, ("field: amount", "field: cents"), "approval-weakened"),
    ("another expression", flow(WHEN, ASK, PAY, STOP), ("> 100", "> 1000"), "approval-weakened"),
    ("begins after the person", ASKED, (f"    {ASK}\n", ""), "human-step-removed"),
    ("judge passed by", JUDGED, ("unfair: stop", "unfair: pay"), "write-reached"),
    ("guardrail that pays", JUDGED, ("guardrail_violation: stop", "guardrail_violation: pay"), "write-reached"),
    ("error that pays", SIZED, ("error: END", "error: pay"), "write-reached"),
    ("tool without its approval", flow(TOOLED, PAY, STOP), ("{ default: END", "{ default: pay"), "approval-weakened"),
    ("an answer nobody gives", TIMED, ("timeout: stop", "timeout: pay"), "approval-weakened"),
    (
        "no answer needed",
        ASKED,
        ("error: stop }\n", "error: stop, timeout: pay }\n      timeout_s: 9\n"),
        "approval-weakened",
    ),
    ("an answer in time", PAID_LATE, ("signal_from", "timeout_s: 9\n      signal_from"), "approval-weakened"),
    (
        "an answer sooner",
        PAID_LATE.replace("signal_from", "timeout_s: 900\n      signal_from"),
        ("900", "9"),
        "approval-weakened",
    ),
    ("an approval that need not be", MAY_ASK, ("payout: ask", "payout: helper"), "approval-weakened"),
    ("an error that may be paid for", MAY_ASK, ("error: END }", "error: helper }"), "approval-weakened"),
    ("beside an approval that may be", flow(MAYBE, PAY, STOP), ("{ default: END", "{ default: pay"), "write-reached"),
    (
        "past an approval that may be",
        MAY_ASK.replace("payout: ask", "payout: helper"),
        ("payout: helper", "payout: pay"),
        "approval-weakened",
    ),
]


@pytest.mark.parametrize(("old", "edit", "code"), [case[1:] for case in WIDER], ids=[case[0] for case in WIDER])
def test_way_past_what_stood_before_a_write_widens(tmp_path: Path, old: str, edit: tuple[str, str], code: str) -> None:
    assert edit[0] in old
    found = told(tmp_path, old, old.replace(*edit))
    assert code in [change.code for change in found]


NO_WAY_BACK = {"condition turned round", "another answer counts", "another field decides", "another expression"}
NO_WAY_BACK |= {"no answer needed", "an answer in time", "an answer sooner"}  # a bound that is higher or gone
BACK = [case for case in WIDER if case[0] not in NO_WAY_BACK]


@pytest.mark.parametrize(("old", "edit"), [case[1:3] for case in BACK], ids=[case[0] for case in BACK])
def test_the_way_back_widens_nothing(tmp_path: Path, old: str, edit: tuple[str, str]) -> None:
    assert told(tmp_path, old.replace(*edit), old) == []


NOT_WIDER = [
    ("lower threshold", SIZED, ("value: 100", "value: 50")),
    ("a yes that stops", SIZED, ("agree: pay", "agree: stop")),
    ("condition and routes turned round", SIZED, ('gt, value: 100 }, routes: { "true": ask, "false": pay',
                                                  'lte, value: 100 }, routes: { "true": pay, "false": ask')),
    ("more is asked", SORTED, ("default: stop", "default: ask")),
    ("a step between", ASKED, ("agree: pay", "agree: note")),
]  # fmt: skip


@pytest.mark.parametrize(("old", "edit"), [case[1:] for case in NOT_WIDER], ids=[case[0] for case in NOT_WIDER])
def test_what_leads_to_no_more_widens_nothing(tmp_path: Path, old: str, edit: tuple[str, str]) -> None:
    note = "    - { id: note, kind: Functional, runner: set, values: { a: 1 }, routes: { default: pay } }\n"
    assert edit[0] in old
    assert told(tmp_path, old + note, old.replace(*edit) + note) == []


def test_run_that_begins_behind_the_guard_passes_it_by(tmp_path: Path) -> None:
    (change,) = told(tmp_path, JUDGED, flow(PAY, AGENT, STOP))
    assert change.code == "guardrail-weakened"
    assert change.message == "the run begins elsewhere, and leads to 'pay' without the guardrails of step 'judge'"


def test_second_person_who_is_passed_by_is_told(tmp_path: Path) -> None:
    boss = ASK.replace("id: ask", "id: boss")
    old = flow(ASK.replace("agree: pay", "agree: boss"), boss, PAY, STOP)
    found = told(tmp_path, old, flow(ASK, boss, PAY, STOP))
    assert [(change.code, change.step) for change in found] == [("approval-weakened", "ask")]


def test_way_is_shown_from_the_signal_to_the_write(tmp_path: Path) -> None:
    hop = "- { id: hop, kind: Functional, runner: set, values: { a: 1 }, routes: { default: pay } }"
    (change,) = told(
        tmp_path, flow(SORT, ASK, PAY, STOP, hop), flow(SORT, ASK, PAY, STOP, hop).replace("payout: ask", "payout: hop")
    )
    assert (change.before, change.after, change.may) == ("ask", "hop then pay", False)
    assert change.message == "step 'sort': signal 'payout' leads to 'pay' without a person being asked"
    assert change.path == "spec.steps[0].routes.payout"


def test_what_nobody_can_tell_may_be(tmp_path: Path) -> None:
    old = flow(WHEN, ASK, PAY, STOP)
    assert {change.may for change in told(tmp_path, old, old.replace("> 100", "> 1000"))} == {True}
    other = flow(SORT.replace("payout: ask", "payout: boss"), ASK, ASK.replace("id: ask", "id: boss"), PAY, STOP)
    assert {change.may for change in told(tmp_path / "person", SORTED, other)} <= {True}
    node = flow(SORT, ASK, "- { id: pay, kind: Functional, runner: unknown, routes: { error: stop } }", STOP)
    (change,) = told(tmp_path / "node", node, node.replace("payout: ask", "payout: pay"))
    assert change.may


def test_many_steps_are_compared_in_bounded_time(tmp_path: Path) -> None:
    count = 150
    steps = [
        f"- {{ id: s{n}, kind: Router, match: {{ field: f{n} }}, routes: {{ a: s{n + 1}, default: t{n} }} }}\n"
        f'    - {{ id: t{n}, kind: APICall, http: {{ url: "https://x.example/{n}", method: POST }}, '
        f"routes: {{ default: s{n + 1} }} }}"
        for n in range(count)
    ]
    old = flow(*steps, f"- {{ id: s{count}, kind: Functional, runner: set, values: {{ a: 1 }} }}")
    found = told(tmp_path, old, old.replace("a: s5, default: t4", "a: t4, default: t4"))
    assert "write-reached" in {change.code for change in found}
