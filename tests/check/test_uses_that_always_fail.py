"""A router and a wait that fail whatever the input is are told, and those that may go well are not."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow

INPUT = """
input:
  type: object
  additionalProperties: false
  required: [s, n, o, l, b, m]
  properties:
    s: { type: string }
    n: { type: number }
    o: { type: object }
    l: { type: array }
    b: { type: boolean }
    m: { type: [string, object] }
"""


def told(tmp_path: Path, step: str) -> list[str]:
    return messages(check(tmp_path, workflow(f"- {{ id: r, {step} }}", INPUT)), "TV503")


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("kind: Router, match: { field: o }", "matches 'o', an object by `spec.input`, which is no signal"),
        ("kind: Router, match: { field: l }", "matches 'l', an array"),
        ("kind: Router, condition: { field: s, operator: contains, value: 1 }", "with a number: it holds texts only"),
        ("kind: Router, condition: { field: o, operator: contains, value: 1 }", "with a number: it holds texts only"),
        ("kind: Router, when: [{ if: '{{ s > 3 }}', signal: x }]", "compares a string with an integer"),
        ("kind: Router, when: [{ if: '{{ 3 <= s }}', signal: x }]", "compares an integer with a string"),
        ("kind: Router, when: [{ if: '{{ o > o }}', signal: x }]", "compares an object with an object"),
        ("kind: Functional, runner: wait, seconds: '{{ s }}'", "it gives a string, not a number of seconds"),
        ("kind: Functional, runner: wait, seconds: '{{ n }} s'", "it gives a string, not a number of seconds"),
        ("kind: Functional, runner: wait, seconds: '{{ l }}'", "it gives an array"),
        ("kind: Functional, runner: wait, seconds: '{{ -1 }}'", "it is less than nothing"),
        ("kind: Functional, runner: wait, seconds: '{{ -(+0.5) }}'", "it is less than nothing"),
    ],
)
def test_use_that_always_fails_is_told(tmp_path: Path, step: str, why: str) -> None:
    (message,) = told(tmp_path, step)
    assert why in message


@pytest.mark.parametrize(
    "step",
    [
        "kind: Router, match: { field: s }",
        "kind: Router, match: { field: n }",
        "kind: Router, match: { field: m }",
        "kind: Router, match: { field: o.a }",
        "kind: Router, condition: { field: s, operator: contains, value: a }",
        "kind: Router, condition: { field: l, operator: contains, value: 1 }",
        "kind: Router, when: [{ if: '{{ n > 3 }}', signal: x }]",
        "kind: Router, when: [{ if: '{{ b > n }}', signal: x }]",
        "kind: Router, when: [{ if: '{{ l > l }}', signal: x }]",
        "kind: Router, when: [{ if: '{{ m > s }}', signal: x }]",
        "kind: Router, when: [{ if: '{{ s == 3 }}', signal: x }]",
        "kind: Router, when: [{ if: '{{ s | length > 3 }}', signal: x }]",
        "kind: Functional, runner: wait, seconds: '{{ n }}'",
        "kind: Functional, runner: wait, seconds: '{{ o.a }}'",
        "kind: Functional, runner: wait, seconds: '{{ s | int }}'",
        "kind: Functional, runner: wait, seconds: 3",
        "kind: Functional, runner: wait, seconds: '{{ -(-1) }}'",
        "kind: Functional, runner: wait, seconds: '{{ 1 - 2 + n }}'",
    ],
)
def test_use_that_may_go_well_is_not_told(tmp_path: Path, step: str) -> None:
    assert told(tmp_path, step) == []


@pytest.mark.parametrize(
    ("count", "most", "tool", "refused"), [(5, 5, False, 1), (4, 5, False, 0), (5, 5, True, 1), (4, 5, True, 0)]
)
def test_list_for_which_the_run_has_no_steps_is_told(
    tmp_path: Path, count: int, most: int, tool: bool, refused: int
) -> None:
    agent = "- { id: a, kind: Agent, mode: autonomous, agent: { model: own/x, steering: x, tools: [{ ref: f }] } }"
    steps = f"""
{agent if tool else ""}
- {{ id: f, kind: ForEach, items: {list(range(count))}, step: s }}
- {{ id: s, kind: Functional, runner: set, values: {{ k: 1 }} }}
"""
    found = messages(check(tmp_path, workflow(steps, f"limits: {{ max_steps: {most} }}")), "TV603")
    assert len(found) == refused
    assert all("it runs none of them" in message for message in found)
