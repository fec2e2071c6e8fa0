"""A use of a value that its type rules out is told before a run; each one told is shown to fail, each other to work."""

import json
from pathlib import Path

import pytest

from tests.check.checking import check, of
from tests.engine.run_support import Project
from tuvl.check.finding import Finding, Severity
from tuvl.check.runner import check_paths

INPUT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text", "n", "many", "order"],
    "properties": {
        "text": {"type": "string"},
        "n": {"type": "integer"},
        "many": {"type": "array", "minItems": 3, "items": {"type": "string"}},
        "order": {"type": "object", "properties": {"total": {"type": "number"}}},
    },
}
GIVEN = {"text": "x", "n": 5, "many": ["a", "b", "c"], "order": {"total": 2.5}}
CHILD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["a"],
    "properties": {
        "a": {"type": "string", "minLength": 1},
        "kind": {"enum": ["x", "y"]},
        "count": {"type": "integer", "maximum": 9},
        "deep": {"type": "object", "additionalProperties": False, "properties": {"b": {"type": "array"}}},
    },
}
SET = {"kind": "Functional", "runner": "set"}
BODY = {"id": "body", **SET, "values": {"done": 1}}


def call(**given: object) -> list[dict[str, object]]:
    return [{"id": "s", "kind": "Workflow", "workflow": "child", "input": given}]


def show(text: str) -> dict[str, object]:
    return {"id": "s", **SET, "values": {"shown": text}}


def each(items: object, **fields: object) -> list[dict[str, object]]:
    return [{"id": "s", "kind": "ForEach", "items": items, "step": "body", **fields}, BODY]


def route(**fields: object) -> list[dict[str, object]]:
    return [{"id": "s", "kind": "Router", "routes": {"true": "END", "false": "END", "x": "END"}, **fields}]


def compare(field: str, operator: str, value: object) -> list[dict[str, object]]:
    return route(condition={"field": field, "operator": operator, "value": value})


FIRST = {"id": "first", **SET, "values": {"r": 1, "t": "{{ n }} of {{ n }}", "m": {"k": [1]}, "copy": "{{ order }}"}}

FAILS = {
    "input that is missing": (call(), "the required key 'a' is missing"),
    "input that is not taken": (call(a="x", zz=1), "it has no key 'zz'"),
    "input of another type": (call(a=3), "'a' is a number, not a string"),
    "text for a whole number": (call(a="x", count="nine"), "'count' is a string, not an integer"),
    "value of another type": (call(a="{{ n }}"), "'a' is an integer, not a string"),
    "part of another type": (call(a="{{ order.total }}"), "'a' is a number, not a string"),
    "expression of another type": (call(a="{{ n > 3 }}"), "'a' is a boolean, not a string"),
    "value that is not listed": (call(a="x", kind="z"), '\'kind\' must be "x" or "y"'),
    "number beyond its range": (call(a="x", count=10), "'count' must be at most 9"),
    "text that is too short": (call(a=""), "'a' must be at least 1 characters long"),
    "broken number": (call(a="x", count=1.5), "'count' must be a whole number"),
    "key deep inside": (call(a="x", deep={"c": 1}), "it has no key 'deep.c'"),
    "type deep inside": (call(a="x", deep={"b": "{{ text }}"}), "'deep.b' is a string, not an array"),
    "value that a step sets": ([FIRST, *call(a="{{ r }}")], "'a' is an integer, not a string"),
    "path into a value that a step sets": (
        [FIRST, show("{{ r.x }}")],
        "'r' is an integer as step 'first' sets it, which has no 'x'",
    ),
    "path into a text that a step makes": ([FIRST, show("{{ t.x }}")], "'t' is a string as step 'first' sets it"),
    "path into a mapping that a step sets": ([FIRST, show("{{ m.q }}")], "'m' has no 'q' as step 'first' sets it"),
    "list that is none": (each("{{ n }}"), "goes through 'n', an integer by `spec.input` and not a list"),
    "list that an expression is not": (each("{{ n + 1 }}"), "goes through `{{ n + 1 }}`, a number and not a list"),
    "list that is always too long": (each("{{ many }}", max_items=2), "has 3 items at least by `spec.input`"),
    "comparison with another type": (
        compare("n", "gt", "3"),
        "compares 'n', an integer by `spec.input`, with a string",
    ),
    "comparison with what a step sets": (
        [FIRST, *compare("t", "eq", 3)],
        "compares 't', a string as step 'first' sets it, with a number",
    ),
    "member of a text": (compare("n", "in", "123"), "with a string, which holds texts only"),
    "condition that is a text": (route(when=[{"if": "{{ text }}", "signal": "x"}]), "it gives a string, not true or"),
    "condition that is a number": (route(when=[{"if": "{{ n or 0 }}", "signal": "x"}]), "it gives an integer, not"),
}

WORKS = {
    "input that fits": call(a="x", kind="y", count=9, deep={"b": [1]}),
    "input that is made to fit": call(a="{{ n }} of it", count="{{ n }}", deep={"b": "{{ many }}"}),
    "number for a whole number": call(a="x", count=2.0),
    "value that a step sets": [FIRST, *call(a="{{ t }}", count="{{ r }}")],
    "path into what a step sets": [FIRST, show("{{ m.k.0 }} {{ t.0 }} {{ copy.total }}")],
    "key that is set anew": [FIRST, {"id": "again", **SET, "values": {"r": {"x": 1}}}, show("{{ r.x }}")],
    "list": each("{{ many }}", max_items=3),
    "list of an expression": each("{{ many + many }}"),
    "comparison": compare("order.total", "gt", 2),
    "member": compare("text", "in", "xyz"),
    "condition": route(when=[{"if": "{{ n > 3 and n < 9 }}", "signal": "x"}]),
}


def project(folder: Path, steps: list[dict[str, object]]) -> Project:
    lines = [f"- {json.dumps(step)}  # tuvl: ignore[TV503] the run shows it" for step in steps]
    made = Project(folder, "\n".join(lines), input=INPUT)
    return made.workflow(f"- {json.dumps(BODY)}", name="child", input=CHILD)


def told(folder: Path) -> list[Finding]:
    path = folder / "workflows" / "flow.yaml"
    written = path.read_text(encoding="utf-8")
    path.write_text(written.replace("# tuvl: ignore", "# "), encoding="utf-8")
    found = [each for each in check_paths([folder], project=folder).findings if each.severity is Severity.ERROR]
    path.write_text(written, encoding="utf-8")
    return found


@pytest.mark.parametrize(("steps", "why"), FAILS.values(), ids=FAILS)
async def test_use_that_is_told_fails_every_run(tmp_path: Path, steps: list[dict[str, object]], why: str) -> None:
    made = project(tmp_path, steps)
    (found,) = told(tmp_path)
    assert (found.code, why in found.message) == ("TV503", True), found.message
    result = await made.run(GIVEN)
    assert (result.status, result.error and result.error.step) == ("failed", "s")


@pytest.mark.parametrize("steps", WORKS.values(), ids=WORKS)
async def test_use_that_is_not_told_works(tmp_path: Path, steps: list[dict[str, object]]) -> None:
    made = project(tmp_path, steps)
    assert told(tmp_path) == []
    assert (await made.run(GIVEN)).status == "completed"


UNKNOWN = {
    "a key that another step writes, too": [
        FIRST,
        {"id": "get", "kind": "APICall", "http": {"url": "https://a.example/"}, "response": {"output_key": "r"}},
        show("{{ r.x }}"),
    ],
    "a key that a silent node may write": [
        FIRST,
        {"id": "node", "kind": "Functional", "runner": "silent"},
        show("{{ r.x }}"),
    ],
    "a later condition": route(when=[{"if": "{{ n > 3 }}", "signal": "x"}, {"if": "{{ text }}", "signal": "x"}]),
    "a step that others call": [*each(["a"], **{"as": "text"}), show("{{ text }}")],
}


@pytest.mark.parametrize("steps", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_told_of_what_is_not_known(tmp_path: Path, steps: list[dict[str, object]]) -> None:
    project(tmp_path, steps).node("from tuvl import node\n\n\n@node('silent')\ndef silent(ctx): ...\n")
    assert [each.message for each in told(tmp_path) if each.code == "TV503"] == []


def test_key_that_the_input_may_bring_is_not_known_where_a_way_leads_past_the_step_that_sets_it(tmp_path: Path) -> None:
    files = {
        "w.yaml": f"""\
            kind: Workflow
            metadata: {{ name: w }}
            spec:
              steps:
                - {{ id: ask, kind: Router, condition: {{ field: a, operator: is_empty }},
                    routes: {{ "true": first, "false": s, error: END }} }}
                - {json.dumps(FIRST)}
                - {json.dumps(show("{{ r.x }}"))}
            """
    }
    assert of(check(tmp_path, files), "TV503") == []


@pytest.mark.parametrize(
    "schema",
    [
        "type: string",
        "type: [string, 'null']",
        "enum: [a, b]",
        "const: 3",
        "allOf: [{ type: array }]",
        "anyOf: [{ type: string }, { type: number }]",
        "$ref: '#/$defs/word', $defs: { word: { type: string } }",
    ],
)
def test_input_that_no_mapping_fits_is_an_error(tmp_path: Path, schema: str) -> None:
    head = (
        f"kind: Workflow\nmetadata: {{ name: w }}\nspec:\n  input: {{ {schema} }}\n  steps:\n    - {json.dumps(BODY)}\n"
    )
    (found,) = of(check(tmp_path, {"w.yaml": head}), "TV503")
    assert found.message.startswith("no input fits: a run begins with a mapping")


@pytest.mark.parametrize(
    "schema",
    [
        "type: [object, 'null']",
        "type: nonsense",
        "{}",
        "anyOf: [{ type: string }, {}]",
        "$ref: '#/$defs/gone'",
        "const: {}",
    ],
)
def test_input_that_a_mapping_may_fit_is_none(tmp_path: Path, schema: str) -> None:
    written = schema if schema == "{}" else f"{{ {schema} }}"
    head = f"kind: Workflow\nmetadata: {{ name: w }}\nspec:\n  input: {written}\n  steps:\n    - {json.dumps(BODY)}\n"
    assert of(check(tmp_path, {"w.yaml": head}), "TV503") == []
