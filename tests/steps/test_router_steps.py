"""Router steps: typed comparison, values as signals, expressions that must be booleans."""

import json

import pytest

from tests.engine.run_support import Project
from tuvl.errors import ConfigError, StepError
from tuvl.plan.model import ConditionPlan
from tuvl.steps.router import equal, holds


def condition(operator: str, left: object, right: object = None) -> bool:
    return holds(ConditionPlan(field=("x",), operator=operator, value=right), {"x": left})


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("eq", 1, 1.0, True),
        ("eq", "a", "a", True),
        ("eq", True, True, True),
        ("eq", None, None, True),
        ("eq", [1, {"a": 2}], [1.0, {"a": 2}], True),
        ("eq", [True], [1], False),
        ("neq", "a", "b", True),
        ("neq", 2**53, 2**53 + 1, True),
        ("gt", 2, 1.5, True),
        ("gt", 1, 1, False),
        ("gte", 1, 1, True),
        ("lt", "a", "b", True),
        ("lte", "b", "a", False),
        ("in", "a", ["a", "b"], True),
        ("in", "c", ["a", "b"], False),
        ("in", 1, [1.0, "b"], True),
        ("in", "b", "abc", True),
        ("in", "a", [], False),
        ("contains", ["a", "b"], "a", True),
        ("contains", "abc", "bc", True),
        ("contains", {"k": 1}, "k", True),
        ("is_empty", "", None, True),
        ("is_empty", [], None, True),
        ("is_empty", {}, None, True),
        ("is_empty", None, None, True),
        ("is_empty", 0, None, False),
        ("is_empty", False, None, False),
        ("is_not_empty", " ", None, True),
    ],
)
def test_what_compares(operator, left, right, expected):
    assert condition(operator, left, right) is expected


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("eq", 1, "1"),
        ("eq", True, 1),
        ("neq", None, "a"),
        ("gt", "2", 1),
        ("gt", True, False),
        ("gt", [2], [1]),
        ("lt", None, 1),
        ("in", "5", [5, 6]),
        ("in", 5, "56"),
        ("in", "a", 7),
        ("contains", 7, "a"),
        ("contains", {"1": 1}, 1),
    ],
)
def test_nothing_is_coerced_silently(operator, left, right):
    with pytest.raises(StepError, match="cannot compare 'x'") as refused:
        condition(operator, left, right)
    assert refused.value.type == "type_mismatch"


def test_the_message_names_kinds_and_never_values():
    with pytest.raises(StepError) as refused:
        condition("eq", "s3cret", 12345)
    assert "s3cret" not in refused.value.message
    assert "12345" not in refused.value.message
    assert "string with number" in refused.value.message


def test_a_missing_key_is_empty_and_for_other_operators_an_error():
    empty = ConditionPlan(field=("order", "lines"), operator="is_empty", value=None)
    assert holds(empty, {"order": {}})
    with pytest.raises(StepError, match=r"there is no 'order\.lines'"):
        holds(ConditionPlan(field=("order", "lines"), operator="eq", value=1), {"order": {}})


def test_equality_is_by_json_type():
    assert not equal(1, True)
    assert not equal({"a": 1}, {"a": "1"})
    assert equal({"a": 1, "b": [None]}, {"b": [None], "a": 1.0})


async def routed(tmp_path, router: dict, context: dict) -> str:
    targets = {"true": "yes", "false": "no", "held": "yes", "7": "yes", "null": "yes", "default": "other"}
    router = {"id": "r", "kind": "Router", **router}
    router.setdefault("routes", targets)
    ends = "\n".join(
        f"- {{ id: {name}, kind: Functional, runner: set, values: {{ went: '{name}' }}, routes: {{ default: END }} }}"
        for name in ("yes", "no", "other")
    )
    result = await Project(tmp_path, f"- {json.dumps(router)}\n{ends}").run(context)
    return result.context.get("went") or f"{result.error.type}: {result.error.message}"


@pytest.mark.parametrize(
    ("value", "went"), [("held", "yes"), ("unknown", "other"), (7, "yes"), (True, "yes"), (None, "yes")]
)
async def test_match_takes_the_value_as_the_signal_and_default_when_it_has_no_route(tmp_path, value, went):
    assert await routed(tmp_path, {"match": {"field": "state"}}, {"state": value}) == went


@pytest.mark.parametrize("value", [[1], {"a": 1}])
async def test_match_on_what_is_no_text_is_an_error(tmp_path, value):
    said = await routed(tmp_path, {"match": {"field": "state"}}, {"state": value})
    assert said.startswith("type_mismatch: 'state' is a ")


async def test_match_on_a_missing_key_is_an_error_that_names_it(tmp_path):
    said = await routed(tmp_path, {"match": {"field": "order.state"}}, {"order": {}})
    assert said.startswith("missing_key: there is no 'order.state'")


WHEN = {"when": [{"if": "{{ n > 10 }}", "signal": "true"}, {"if": "{{ n > 5 }}", "signal": "false"}]}


@pytest.mark.parametrize(("n", "went"), [(11, "yes"), (6, "no"), (5, "other")])
async def test_when_takes_the_first_true_case_and_default_without_one(tmp_path, n, went):
    assert await routed(tmp_path, WHEN, {"n": n}) == went


@pytest.mark.parametrize("text", ["true", "{{ n > 1 }} "])
async def test_when_that_can_only_be_text_does_not_begin(tmp_path, text):
    with pytest.raises(ConfigError, match="gives a string, never true or false"):
        await routed(tmp_path, {"when": [{"if": text, "signal": "true"}]}, {"n": 2})


@pytest.mark.parametrize("text", ["{{ s }}", "{{ n }}"])
async def test_when_wants_a_real_boolean_and_no_truthy_text(tmp_path, text):
    said = await routed(tmp_path, {"when": [{"if": text, "signal": "true"}]}, {"s": "true", "n": 2})
    assert said.startswith("type_mismatch: `if: ")
