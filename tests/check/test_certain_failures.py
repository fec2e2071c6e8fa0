"""Conditions, lists, outputs and approvals that come to nothing in every run are told before one."""

import json
from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tests.engine.run_support import Project
from tuvl.check.finding import Severity
from tuvl.check.runner import check_paths

NOTE = "- { id: note, kind: Functional, runner: set, values: { noted: 1 } }"


def router(**fields: object) -> dict[str, str]:
    step = {"id": "r", "kind": "Router", "routes": {"x": "END", "default": "END", "true": "END", "false": "END"}}
    return workflow(f"- {json.dumps({**step, **fields})}")


def when(*tests: object) -> dict[str, str]:
    return router(when=[{"if": test, "signal": "x"} for test in tests])


def compare(operator: str, value: object) -> dict[str, str]:
    return router(condition={"field": "a", "operator": operator, "value": value})


@pytest.mark.parametrize(
    ("test", "gives"),
    [
        ("a > 3", "a string"),
        ("yes, {{ a > 3 }}", "a string"),
        ("{{ a > 3 }} ", "a string"),
        ("{{ 1 }}", "an integer"),
        ("{{ 'true' }}", "a string"),
        ("{{ none }}", "null"),
        ("{{ a | length }}", "a number"),
        ("{{ a | lower }}", "a string"),
        ("{% if a > 3 %}true{% endif %}", "a string"),
    ],
)
def test_condition_that_gives_no_boolean_is_an_error(tmp_path: Path, test: str, gives: str) -> None:
    (found,) = of(check(tmp_path, when("{{ a }}", test)), "TV111")
    assert f"gives {gives}, never true or false" in found.message
    assert found.path == "spec.steps[0].when[1].if"


def test_condition_without_its_braces_is_shown_with_them(tmp_path: Path) -> None:
    (found,) = of(check(tmp_path, when("a > 3")), "TV111")
    assert found.hint == "an expression stands in braces: `{{ a > 3 }}`"


@pytest.mark.parametrize(
    "test",
    ["{{ a }}", "{{ a > 3 }}", "{{ true }}", "{{ a or b }}", "{{ a and b > 3 }}", "{{ a | first }}", "{{ not a }}"],
)
def test_condition_that_may_give_a_boolean_is_not_told(tmp_path: Path, test: str) -> None:
    assert of(check(tmp_path, when(test)), "TV111") == []


@pytest.mark.parametrize(
    ("operator", "value"),
    [("in", 3), ("in", True), ("in", None), ("gt", True), ("lte", [1]), ("gte", {"a": 1}), ("lt", None)],
)
def test_value_that_an_operator_never_compares_with_is_an_error(tmp_path: Path, operator: str, value: object) -> None:
    (found,) = of(check(tmp_path, compare(operator, value)), "TV111")
    assert found.path == "spec.steps[0].condition.value"


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("in", []),
        ("in", "abc"),
        ("in", {"a": 1}),
        ("gt", 1.5),
        ("lt", "m"),
        ("eq", None),
        ("neq", [1]),
        ("contains", 3),
    ],
)
def test_value_that_an_operator_may_compare_with_is_not_told(tmp_path: Path, operator: str, value: object) -> None:
    assert of(check(tmp_path, compare(operator, value)), "TV111") == []


def test_comparison_without_a_value_is_told_once(tmp_path: Path) -> None:
    files = router(condition={"field": "a", "operator": "eq"})
    text = files["workflows/w.yaml"].replace(
        "spec:", "spec:\n  input: { type: object, required: [a], properties: { a: { type: string } } }"
    )
    found = check(tmp_path, {"workflows/w.yaml": text}).findings
    assert [each.code for each in found if each.severity is Severity.ERROR] == ["TV103"]


LIST = [1, 2, 3]


@pytest.mark.parametrize(
    ("fields", "place"), [({"items": LIST, "max_items": 2}, "max_items"), ({"items": [0] * 101}, "items")]
)
async def test_list_that_is_longer_than_its_step_takes_is_an_error(
    tmp_path: Path, fields: dict[str, object], place: str
) -> None:
    step = {"id": "each", "kind": "ForEach", "step": "note", **fields}
    made = Project(tmp_path, f"- {json.dumps(step)}\n{NOTE}")
    (found,) = of(check_paths([tmp_path], project=tmp_path), "TV603")
    assert (found.path, found.severity) == (f"spec.steps[0].{place}", Severity.ERROR)
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("}\n", "}  # tuvl: ignore[TV603] to see it\n", 2))
    result = await made.run()
    assert result.error is not None
    assert result.error.type == "too_many_items"


@pytest.mark.parametrize("most", [3, 4])
def test_list_that_fits_is_not_told(tmp_path: Path, most: int) -> None:
    step = {"id": "each", "kind": "ForEach", "step": "note", "items": LIST, "max_items": most}
    assert of(check(tmp_path, workflow(f"- {json.dumps(step)}\n{NOTE}")), "TV603") == []


SET = '- { id: s, kind: Functional, runner: set, values: { r: 1, m: { k: [1] }, t: "{{ x | default(2) }}" } }'


@pytest.mark.parametrize("output", ["r.x", "m.q", "m.k.first"])
async def test_output_that_leads_to_nothing_is_an_error(tmp_path: Path, output: str) -> None:
    made = Project(tmp_path, SET, output=output)
    (found,) = of(check_paths([tmp_path], project=tmp_path), "TV505")
    assert (found.path, found.severity) == ("spec.output", Severity.ERROR)
    assert found.message.startswith(f"`spec.output` names {output!r}, but ")
    path = tmp_path / "workflows" / "flow.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("output:", "# tuvl: ignore[TV505] to see it\n  output:"), encoding="utf-8")
    result = await made.run()
    assert (result.status, result.output) == ("completed", None)


@pytest.mark.parametrize("output", ["r", "m.k", "m.k.0", "t.x", "gone.x"])
def test_output_that_may_lead_to_something_is_no_error(tmp_path: Path, output: str) -> None:
    assert [
        each for each in of(check(tmp_path, workflow(SET, f"output: {output}")), "TV505") if each.severity == "error"
    ] == []


def test_keys_of_the_engine_are_told_where_no_model_gets_them(tmp_path: Path) -> None:
    steps = """
        - { id: call, kind: Functional, runner: fail, message: no, routes: { error: mend } }
        - id: mend
          kind: Agent
          mode: completion
          agent: { model: openai/gpt-4o-2024-08-06, prompt: "{{ _last_error }}", context_injection: [_last_error] }
          routes: { error: END, timeout: END, aborted: END }
    """
    (found,) = messages(check(tmp_path, workflow(steps)), "TV501")
    assert "reads '_last_error' in `agent.context_injection`, which never has keys of the engine" in found


def test_keys_of_the_engine_are_shown_to_people(tmp_path: Path) -> None:
    steps = """
        - { id: call, kind: Functional, runner: fail, message: no, routes: { error: ask } }
        - { id: ask, kind: HumanInTheLoop, ui: { title: T, display_context: [_last_error] }, routes: { error: END } }
    """
    assert messages(check(tmp_path, workflow(steps)), "TV501") == []


def tool(approval: str = "never", url: str = "https://a.example/{{ args.n }}", **schema: object) -> dict[str, str]:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}, "o": {}}, "required": ["n"], **schema}
    entry = {"ref": "call", "description": "C.", "approval": approval, "parameters": parameters}
    agent = {"id": "a", "kind": "Agent", "mode": "autonomous", "agent": {"steering": "Go.", "tools": [entry]}}
    call = {"id": "call", "kind": "APICall", "http": {"url": f"{url}?o={{{{ o | default(1) }}}}"}}
    head = "input: { type: object, additionalProperties: false, properties: { sum: { type: number } } }"
    return workflow(f"- {json.dumps(agent)}\n- {json.dumps(call)}", head)


@pytest.mark.parametrize(
    ("approval", "name"),
    [("{{ args.m > 3 }}", "m"), ("{{ m > 3 }}", "m"), ("{{ args.n > 3 and total > 1 }}", "total")],
)
def test_approval_that_reads_what_nothing_supplies_is_told(tmp_path: Path, approval: str, name: str) -> None:
    (found,) = messages(check(tmp_path, tool(approval)), "TV408")
    assert f"reads {name!r}, which no parameter" in found


@pytest.mark.parametrize(
    "approval", ["required", "{{ args.n > 3 }}", "{{ n > sum }}", "{{ args.o > 3 }}", "{{ (args.m | default(0)) > 3 }}"]
)
def test_approval_that_can_be_decided_is_not_told(tmp_path: Path, approval: str) -> None:
    assert messages(check(tmp_path, tool(approval)), "TV408") == []


@pytest.mark.parametrize("url", ["https://a.example/{{ args.n }}/{{ args.o }}", "https://a.example/{{ n }}/{{ o }}"])
def test_argument_that_the_model_may_leave_out_is_told_where_the_call_needs_it(tmp_path: Path, url: str) -> None:
    files = tool(url=url)
    files["workflows/w.yaml"] = files["workflows/w.yaml"].replace("?o={{ o | default(1) }}", "")
    (found,) = messages(check(tmp_path, files), "TV408")
    assert "reads 'o' in `http.url`, which the model may leave out" in found


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/{{ n }}/{{ args.o | default(1) }}",
        "https://a.example/{{ n }}/{{ args.o if args.o is defined else 1 }}",
        "https://a.example/{{ n }}",
    ],
)
def test_argument_that_is_provided_for_is_not_told(tmp_path: Path, url: str) -> None:
    assert messages(check(tmp_path, tool(url=url)), "TV408") == []
