"""What a router can return, by the values that it can come to look at."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow

HEAD = """
input:
  type: object
  additionalProperties: false
  required: [name]
  properties:
    name: { type: string }
    topic: { enum: [order, refund] }
    count: { type: integer, minimum: 0, maximum: 10 }
    urgent: { type: boolean }
    level: { enum: [1, 2] }
    order: { type: object, properties: { state: { enum: [open, closed] } } }
"""


def said(tmp_path: Path, code: str, router: str, routes: str, before: str = "") -> list[str]:
    steps = f"{before}\n- {{ id: r, kind: Router, {router}, routes: {{ {routes} }} }}"
    return messages(check(tmp_path, workflow(steps, HEAD)), code)


def condition(field: str, operator: str, value: str) -> str:
    return f"condition: {{ field: {field}, operator: {operator}, value: {value} }}"


@pytest.mark.parametrize(
    ("router", "never"),
    [
        (condition("count", "gt", "50"), "true"),
        (condition("count", "gt", "10"), "true"),
        (condition("count", "gte", "0"), "false"),
        (condition("count", "lt", "0"), "true"),
        (condition("count", "eq", "11"), "true"),
        (condition("count", "neq", "11"), "false"),
        (condition("topic", "eq", "gift"), "true"),
        (condition("topic", "in", "[gift, card]"), "true"),
        (condition("topic", "in", "[order, refund, gift]"), "false"),
        (condition("topic", "contains", "x"), "true"),
        (condition("order.state", "eq", "lost"), "true"),
        (condition("made", "eq", "2"), "true"),
    ],
)
def test_condition_that_has_one_answer_never_takes_the_other_route(tmp_path: Path, router: str, never: str) -> None:
    made = "- { id: s, kind: Functional, runner: set, values: { made: 1 } }"
    found = said(tmp_path, "TV303", router, '"true": END, "false": END', before=made)
    assert found == [f"step 'r' never returns {never!r}"]


@pytest.mark.parametrize(
    "router",
    [
        condition("count", "gt", "9"),
        condition("count", "lte", "0"),
        condition("topic", "eq", "order"),
        condition("topic", "in", "[order, gift]"),
        condition("topic", "contains", "order"),
        condition("name", "eq", "gift"),
        condition("name", "gt", "m"),
        condition("order.number", "eq", "3"),
        "condition: { field: count, operator: is_empty }",
    ],
)
def test_condition_that_may_go_either_way_is_not_reported(tmp_path: Path, router: str) -> None:
    assert said(tmp_path, "TV303", router, '"true": END, "false": END') == []


def test_value_that_another_step_may_write_is_not_known(tmp_path: Path) -> None:
    call = '- { id: c, kind: APICall, http: { url: "https://a.example/" }, response: { output_key: count } }'
    router = condition("count", "gt", "50")
    assert said(tmp_path, "TV303", router, '"true": END, "false": END', before=call) == []


@pytest.mark.parametrize(
    ("field", "routes", "never"),
    [
        ("urgent", '"True": END, default: END', "True"),
        ("topic", "order: END, gift: END, default: END", "gift"),
        ("level", '"3": END, default: END', "3"),
        ("count", "many: END, default: END", "many"),
        ("count", '"11": END, default: END', "11"),
        ("order.state", "lost: END, default: END", "lost"),
    ],
)
def test_route_for_a_value_that_the_field_cannot_have_is_never_taken(
    tmp_path: Path, field: str, routes: str, never: str
) -> None:
    found = said(tmp_path, "TV303", f"match: {{ field: {field} }}", routes)
    assert found == [f"step 'r' never returns {never!r}"]


@pytest.mark.parametrize(
    ("field", "routes"),
    [
        ("urgent", '"true": END, "false": END, default: END'),
        ("level", '"1": END, "2": END, default: END'),
        ("count", '"10": END, default: END'),
        ("name", '"true": END, gift: END, default: END'),
    ],
)
def test_route_for_a_value_that_the_field_can_have_is_not_reported(tmp_path: Path, field: str, routes: str) -> None:
    assert said(tmp_path, "TV303", f"match: {{ field: {field} }}", routes) == []


@pytest.mark.parametrize(
    ("router", "routes", "gap"),
    [
        ("match: { field: topic }", "order: END, refund: END", False),
        ("match: { field: urgent }", '"true": END, "false": END', False),
        ("match: { field: level }", '"1": END, "2": END', False),
        ("when: [{ if: '{{ count <= 10 }}', signal: few }]", "few: END", False),
        ("match: { field: topic }", "order: END", True),
        ("match: { field: urgent }", '"true": END', True),
        ("match: { field: name }", "order: END, refund: END", True),
        ("when: [{ if: '{{ count <= 9 }}', signal: few }]", "few: END", True),
    ],
)
def test_routes_for_all_values_leave_no_gap(tmp_path: Path, router: str, routes: str, gap: bool) -> None:
    assert len(said(tmp_path, "TV309", router, routes)) == gap


@pytest.mark.parametrize(
    ("cases", "never"),
    [
        ("{ if: '{{ count > 10 }}', signal: many }, { if: '{{ urgent }}', signal: now }", ["many"]),
        ("{ if: '{{ true }}', signal: now }, { if: '{{ urgent }}', signal: many }", ["many"]),
        ("{ if: '{{ count > 9 }}', signal: many }, { if: '{{ urgent }}', signal: now }", []),
        ("{ if: '{{ count > 10 }}', signal: many }, { if: '{{ urgent }}', signal: many }", []),
    ],
)
def test_case_that_is_never_come_to_is_never_taken(tmp_path: Path, cases: str, never: list[str]) -> None:
    found = said(tmp_path, "TV303", f"when: [{cases}]", "now: END, many: END, default: END")
    assert [each for each in found if "now" not in each] == [f"step 'r' never returns {name!r}" for name in never]


def test_router_that_no_run_comes_to_is_told_as_that_alone(tmp_path: Path) -> None:
    steps = """
- { id: r, kind: Router, condition: { field: name, operator: eq, value: x }, routes: { "true": END, "false": END } }
- { id: lost, kind: Router, match: { field: topic, cases: { order: left } }, routes: { left: END, default: END } }
"""
    codes = {finding.code for finding in check(tmp_path, workflow(steps, HEAD)).findings}
    assert "TV301" in codes
    assert "TV999" not in codes
