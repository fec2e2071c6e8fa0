"""A request counts with what its values can be: what a type bounds cannot fill the context."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow

SMALL = "kind: AgentModel\nmetadata: { name: m }\nspec: { provider: own, model: x, context_window: 9000 }\n"


FIELDS = {"autonomous": "max_iterations: 1, steering", "completion": "prompt: Hi., system"}


def overflows(
    tmp_path: Path, property: str, steering: str, *, before: str = "", closed: bool = True, mode: str = ""
) -> list[str]:
    """What is told of an agent in each of the two modes, or in one."""
    head = f"input: {{ type: object, additionalProperties: {str(not closed).lower()}, properties: {{ {property} }} }}"
    steps = f"""
{before}
- id: work
  kind: Agent
  mode: MODE
  agent: {{ model: m, max_output_tokens: 100, STEERING: "{steering}" }}
  routes: {{ max_iterations: END, error: END, aborted: END, timeout: END }}
"""
    found = []
    for each in (mode,) if mode else ("autonomous", "completion"):
        shown = steps.replace("MODE", each).replace("STEERING", FIELDS[each])
        found.append(messages(check(tmp_path, workflow(shown, head) | {"llms/m.yaml": SMALL}), "TV606"))
    assert len({bool(told) for told in found}) == 1, found
    return found[0]


BOUNDED = {
    "enum": ("v: { enum: [en, de] }", "In {{ v }}"),
    "number": ("v: { type: integer }", "{{ v }}"),
    "amount": ("v: { type: number, minimum: 0, maximum: 5 }", "{{ v }}"),
    "flag": ("v: { type: [boolean, 'null'] }", "{{ v }}"),
    "short text": ("v: { type: string, maxLength: 2000 }", "{{ v }} {{ v }}"),
    "list": ("v: { type: array, maxItems: 20, items: { type: string, maxLength: 100 } }", "{{ v }}"),
    "object": ("v: { type: object, additionalProperties: false, properties: { a: { enum: [a] } } }", "{{ v }}"),
    "part of it": ("v: { type: object, additionalProperties: false, properties: { a: { enum: [a] } } }", "{{ v.a }}"),
    "calculated": ("v: { type: integer }", "{{ v + 1 }}"),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_value_that_its_type_bounds_fills_no_window(tmp_path: Path, case: str) -> None:
    property, steering = BOUNDED[case]
    assert overflows(tmp_path, property, steering) == []


@pytest.mark.parametrize(
    "property",
    [
        "v: { type: string }",
        "v: {}",
        "v: { type: string, maxLength: 90000 }",
        "v: { type: array, items: { enum: [a] } }",
        "v: { type: object, properties: { a: { enum: [a] } } }",
    ],
)
def test_value_that_nothing_bounds_may_be_as_long_as_the_context(tmp_path: Path, property: str) -> None:
    assert len(overflows(tmp_path, property, "{{ v }}")) == 1


LIST = "- { id: list, kind: ForEach, items: ITEMS, as: it, step: work }"


@pytest.mark.parametrize(("items", "count"), [("'{{ v }}'", 0), ("[a, b]", 0), ("'{{ w }}'", 1), ("'{{ v + w }}'", 1)])
def test_item_is_as_long_as_the_items_of_its_list(tmp_path: Path, items: str, count: int) -> None:
    lists = "v: { type: array, items: { enum: [a] } }, w: { type: array, items: { type: string } }"
    found = overflows(tmp_path, lists, "{{ it }}", before=LIST.replace("ITEMS", items), mode="completion")
    assert len(found) == count


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ("- { id: s, kind: Functional, runner: set, values: { v: en } }", 0),
        ("- { id: s, kind: Functional, runner: set, values: { other: 1 } }", 0),
        ("- { id: s, kind: APICall, http: { url: 'https://a.example/' }, response: { output_key: v } }", 1),
        ("- { id: s, kind: Agent, mode: completion, agent: { model: m, prompt: Hi., outcome: { format: json } } }", 1),
    ],
)
def test_value_that_another_step_may_have_written_is_as_long_as_that_one_makes_it(
    tmp_path: Path, before: str, count: int
) -> None:
    found = overflows(tmp_path, "v: { enum: [en, de] }", "{{ v }}", before=before, mode="completion")
    assert len(found) == count


def test_agent_that_sees_the_whole_context_may_see_what_an_open_input_brings(tmp_path: Path) -> None:
    assert len(overflows(tmp_path, "v: { enum: [a] }", "{{ v }}", closed=False, mode="autonomous")) == 1
    assert overflows(tmp_path, "v: { enum: [a] }", "{{ v }}", closed=False, mode="completion") == []
