"""What the shape check says: code, place, words and what may help."""

import copy

import pytest

from tests.spec.documents import DOCUMENTS, WORKFLOW
from tuvl.spec.removed import REMOVED
from tuvl.spec.shape import ShapeProblem, shape_problems
from tuvl.values import JsonObject, JsonValue


def workflow(*steps: object, **spec: object) -> JsonObject:
    return {"kind": "Workflow", "metadata": {"name": "w"}, "spec": {"steps": list(steps), **spec}}  # type: ignore[dict-item]


def node(**fields: object) -> JsonObject:
    return {"id": "x", "kind": "Functional", "runner": "price", **fields}  # type: ignore[dict-item]


def agent(mode: str = "autonomous", **fields: object) -> JsonObject:
    base: dict[str, object] = {"model": "m"} if mode == "completion" else {"model": "m", "tools": [{"ref": "t"}]}
    return {"id": "a", "kind": "Agent", "mode": mode, "agent": base | fields}  # type: ignore[dict-item]


def call(**http: object) -> JsonObject:
    return {"id": "c", "kind": "APICall", "http": {"url": "https://x", **http}}  # type: ignore[dict-item]


def only(document: JsonValue, kind: str = "Workflow") -> ShapeProblem:
    (problem,) = shape_problems(document, kind=kind)
    return problem


def codes(document: JsonValue, kind: str = "Workflow") -> list[str]:
    return [problem.code for problem in shape_problems(document, kind=kind)]


def test_unknown_field_gets_a_guess_and_can_be_mended() -> None:
    """faults E11."""
    problem = only(workflow(node(), limits={"max_cost_usdd": 1}))
    assert (problem.code, problem.path, problem.at_key) == ("TV101", ("spec", "limits", "max_cost_usdd"), True)
    assert problem.message == "unknown field 'max_cost_usdd' in `spec.limits`"
    assert problem.hint == "did you mean 'max_cost_usd'?"
    assert (problem.fixable, problem.suggestion) == (True, "max_cost_usd")


@pytest.mark.parametrize("spelling", ["max-steps", "maxSteps", "MAX_STEPS", "max_step", "mxa_steps"])
def test_guess_looks_past_case_hyphens_and_small_slips(spelling: str) -> None:
    assert only(workflow(node(), limits={spelling: 3})).suggestion == "max_steps"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["kind"])
def test_unknown_field_is_an_error_at_every_depth_of_every_kind(document: JsonObject) -> None:
    changed = copy.deepcopy(document)
    expected = set()

    def plant(value: JsonValue, path: tuple[str | int, ...]) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                plant(item, (*path, index))
        elif isinstance(value, dict) and not OWN_KEYS.intersection(path):
            for key, item in list(value.items()):
                plant(item, (*path, key))
            value["zzzzzzzz"] = 1
            expected.add((*path, "zzzzzzzz"))

    plant(changed, ())
    found = shape_problems(changed, kind=str(document["kind"]))
    assert {problem.path for problem in found} == expected
    assert {problem.code for problem in found} == {"TV101"}


OWN_KEYS = {
    "input", "params", "values", "json", "form", "query", "headers", "env", "schema", "parameters", "filters", "routes",
    "payload", "arguments", "mapping", "map", "extra", "options", "guardrails", "models", "stubs", "answers", "context",
    "output", "default", "provider", "request",
}  # fmt: skip
"""Mappings whose keys are the author's own, or are left to another rule."""


def test_field_of_an_inner_block_is_told_where_it_belongs() -> None:
    problem = only(workflow(agent() | {"max_iterations": 3}))
    assert problem.code == "TV101"
    assert problem.message == "unknown field 'max_iterations' in step 'a'"
    assert problem.hint == "it belongs under `agent:`"
    assert not problem.fixable


def test_field_of_an_outer_block_is_told_where_it_belongs() -> None:
    problem = only(workflow(agent(routes={"default": "END"})))
    assert problem.hint == "it belongs one level up, beside `agent:`"


def test_limit_beside_limits_is_told_where_it_belongs() -> None:
    assert only(workflow(node(), max_steps=3)).hint == "it belongs under `limits:`"


def test_misplaced_metadata_is_reported_once() -> None:
    document = {"kind": "Workflow", "name": "w", "spec": {"steps": [node()]}}
    problem = only(document)
    assert (problem.code, problem.path) == ("TV101", ("name",))
    assert problem.hint == "it belongs under `metadata:`"


def test_flat_document_is_told_so_once_for_each_field() -> None:
    problems = shape_problems(
        {"kind": "Workflow", "metadata": {"name": "w"}, "steps": [node()], "limits": {}}, kind="Workflow"
    )
    assert [(problem.code, problem.path) for problem in problems] == [("TV105", ("steps",)), ("TV105", ("limits",))]
    assert problems[0].hint == "move it under `spec:` and indent it: `spec.steps`"
    assert all(problem.at_key for problem in problems)


def test_flat_artifact_is_told_so_for_the_fields_of_any_type() -> None:
    document = {"kind": "Artifact", "metadata": {"name": "w"}, "type": "guardrail", "checks": []}
    assert codes(document, "Artifact") == ["TV105", "TV105"]


@pytest.mark.parametrize(
    ("value", "found", "hint"),
    [
        (
            "1:30",
            "the text '1:30'",
            "YAML 1.2 reads it as text; write one number, e.g. 90 if",
        ),
        ("5", "the text '5'", "write it without quotes: 5"),
        ("1_000", "the text '1_000'", "write it without `_`: 1000"),
        ("{{ t }}", "the text '{{ t }}'", "a template or a variable cannot stand here; write the number"),
        (True, "`true`", None),
        (0, "the number 0", None),
        (-2.5, "the number -2.5", None),
        (None, "nothing (`null`)", "leave the field out to get its default, 30.0"),
        ([], "an empty list", None),
        ({"a": 1}, "a mapping", None),
    ],
    ids=repr,
)
def test_wrong_number_says_what_yaml_made_of_it(value: object, found: str, hint: str | None) -> None:
    """faults M07."""
    problem = only(workflow(call(timeout=value)))
    assert (problem.code, problem.path) == ("TV102", ("spec", "steps", 0, "http", "timeout"))
    assert problem.message == f"`http.timeout` of step 'c' must be a number above 0, not {found}"
    assert (problem.hint or "").startswith(hint or "")
    assert (problem.hint is None) == (hint is None)


@pytest.mark.parametrize(
    ("value", "hint"),
    [(1.1, '"1.1"'), (1.0, '"1.0"'), (True, '"true"'), (12, '"12"')],
    ids=repr,
)
def test_unquoted_text_is_told_to_be_quoted(value: object, hint: str) -> None:
    """faults M02, M07: never `str(True)`."""
    problem = only(workflow(node(description=value)))
    assert problem.code == "TV102"
    assert problem.hint == f"put it in quotes if text is meant: {hint}"


@pytest.mark.parametrize(("word", "meant"), [("yes", "true"), ("on", "true"), ("No", "false"), ("off", "false")])
def test_boolean_of_older_yaml_is_told_what_to_write(word: str, meant: str) -> None:
    """faults M02."""
    problem = only(workflow(node(), durable=word))
    assert problem.code == "TV102"
    assert problem.hint == f"YAML 1.2 reads {word!r} as text; write `{meant}`"


def test_float_where_a_whole_number_is_meant_says_which() -> None:
    assert only(workflow(agent(token_budget=1000.0))).hint == "write it as a whole number: 1000"


def test_bound_of_zero_says_how_to_have_none() -> None:
    problem = only(workflow(agent(token_budget=0)))
    assert problem.hint == "write `null`, or leave the field out, to have no bound"


@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), float("nan"), 10**400], ids=["inf", "-inf", "nan", "big"]
)
def test_number_without_end_is_out_of_range(value: float) -> None:
    assert only(workflow(agent(cost_budget_usd=value))).code == "TV102"


def test_wrong_choice_is_shown_all_and_guessed() -> None:
    problem = only(workflow(call(method="get")))
    assert "`GET`, `HEAD`, `POST`" in problem.message
    assert problem.hint == "did you mean 'GET'?"


def test_one_value_where_a_list_is_wanted_is_told_how() -> None:
    assert only(workflow(node(hooks="artifact://h@1"))).hint == "write a list: [artifact://h@1]"


def test_value_that_may_be_one_of_several_things_says_all_of_them() -> None:
    problem = only(workflow(call(retry={"on": ["sometimes"]})))
    assert problem.path == ("spec", "steps", 0, "http", "retry", "on", 0)
    assert "one of `timeout`, `connect`" in problem.message
    assert "a class of statuses such as `5xx`" in problem.message
    assert "a whole number from 100 to 599" in problem.message


def test_value_of_a_secret_field_is_not_repeated() -> None:
    document = {
        "kind": "AgentModel",
        "metadata": {"name": "m"},
        "spec": {"provider": "p", "model": "m", "api_key": 1234567},
    }
    problem = only(document, "AgentModel")
    assert "1234567" not in f"{problem.message} {problem.hint}"


def test_secret_header_that_yaml_reads_as_a_number_is_not_repeated() -> None:
    problem = only(workflow(call(headers={"X-Key": 1234567})))
    assert "1234567" not in f"{problem.message} {problem.hint}"


def test_missing_field_is_told_at_the_mapping_that_lacks_it() -> None:
    step = {"id": "c", "kind": "APICall", "http": {}}
    problem = only(workflow(step))
    assert (problem.code, problem.path, problem.at_key) == ("TV103", ("spec", "steps", 0, "http"), True)
    assert problem.message == "`url` is missing in `http` of step 'c'"


def test_step_without_kind_is_still_checked_for_the_rest() -> None:
    problems = shape_problems(workflow({"id": "x", "timeout_s": 0, "zzzzz": 1}), kind="Workflow")
    assert [problem.code for problem in problems] == ["TV103", "TV102", "TV101"]


def test_unknown_step_kind_is_guessed() -> None:
    problem = only(workflow(agent() | {"kind": "Agnet"}))
    assert (problem.code, problem.path) == ("TV104", ("spec", "steps", 0, "kind"))
    assert problem.hint == "did you mean 'Agent'?"


@pytest.mark.parametrize(("kind", "hint"), [("Workflw", "did you mean 'Workflow'?"), ("Deployment", "the kinds are")])
def test_unknown_document_kind_is_guessed(kind: str, hint: str) -> None:
    problem = only({"kind": kind}, kind)
    assert (problem.code, problem.path) == ("TV104", ("kind",))
    assert (problem.hint or "").startswith(hint)


def test_removed_step_kind_names_what_replaces_it() -> None:
    problem = only(workflow(agent() | {"kind": "AutonomousAgent"}))
    assert (problem.code, problem.hint) == ("TV106", "use `kind: Agent` with `mode: autonomous`")


@pytest.mark.parametrize("field", ["goal", "output", "steering_files"])
@pytest.mark.parametrize("mode", ["autonomous", "completion"])
def test_removed_agent_field_names_what_replaces_it(field: str, mode: str) -> None:
    problem = only(workflow(agent(mode, **{field: "x"})))
    assert (problem.code, problem.path[-1], problem.at_key) == ("TV106", field, True)
    assert problem.hint


@pytest.mark.parametrize(("field", "hint"), [("output_key", "outcome.write"), ("signal_from", "outcome.enum")])
def test_removed_outcome_field_names_what_replaces_it(field: str, hint: str) -> None:
    problem = only(workflow(agent(outcome={field: "x"})))
    assert problem.code == "TV106"
    assert hint in (problem.hint or "")


@pytest.mark.parametrize("field", ["transport", "command", "args", "env", "url", "headers"])
def test_inline_mcp_connection_names_the_artifact(field: str) -> None:
    step = {"id": "m", "kind": "MCP", "mcp": {"server": "artifact://s@1", "tool": "t", field: "x"}}
    problem = only(workflow(step))
    assert problem.code == "TV106"
    assert "type: mcp" in (problem.hint or "")


def test_criteria_file_of_a_judge_names_what_replaces_it() -> None:
    spec = {
        "type": "guardrail",
        "checks": [{"check": "llm_judge", "model": "m", "criteria": "c", "criteria_file": "f"}],
    }
    assert only({"kind": "Artifact", "metadata": {"name": "g"}, "spec": spec}, "Artifact").code == "TV106"
    supervisor = {"watches": ["a"], "judge": {"model": "m", "criteria_file": "f"}}
    assert only(workflow(agent(), supervisor=supervisor)).code == "TV106"


def test_every_removed_field_really_is_no_field() -> None:
    from tuvl.spec.json_schema import contracts

    for entry in REMOVED:
        for definition in entry.definitions:
            assert entry.field not in contracts()[definition].model_fields


@pytest.mark.parametrize("step_id", ["1a", "a b", "a.b", "", "a" * 65, "é", "a\n"])
def test_step_id_outside_the_alphabet_is_a_bad_id(step_id: str) -> None:
    problem = only(workflow(node() | {"id": step_id}))
    assert (problem.code, problem.path) == ("TV108", ("spec", "steps", 0, "id"))


@pytest.mark.parametrize("name", ["a b", "_a", "", "a/b", "a\n"])
def test_document_name_outside_the_alphabet_is_a_bad_id(name: str) -> None:
    assert only(workflow(node()) | {"metadata": {"name": name}}).code == "TV108"


def test_router_without_a_form_and_with_two_is_told_so() -> None:
    router = {"id": "r", "kind": "Router"}
    assert only(workflow(router)).code == "TV103"
    both = only(workflow(router | {"match": {"field": "a"}, "condition": {"field": "a", "operator": "is_empty"}}))
    assert (both.code, both.message) == ("TV102", "`condition` and `match` exclude each other in step 'r'")


def test_field_needed_by_the_value_of_another_is_told_with_its_reason() -> None:
    step = {"id": "r", "kind": "Router", "condition": {"field": "a", "operator": "eq"}}
    assert only(workflow(step)).message == "`value` is missing in `condition` of step 'r' (`operator` is 'eq')"
    spec = {"provider": "openai_compatible", "model": "m"}
    problem = only({"kind": "AgentModel", "metadata": {"name": "m"}, "spec": spec}, "AgentModel")
    assert problem.message == "`api_base` is missing in `spec` (`provider` is 'openai_compatible')"


@pytest.mark.parametrize(
    "fields",
    [
        agent() | {"mode": "agentic"},
        {key: value for key, value in agent().items() if key != "mode"},
        agent(system="x", prompt="y"),
        agent("completion", tools=[], max_iterations=0),
        agent(tools=[]),
        {"id": "a", "kind": "Agent", "mode": "autonomous", "agent": {"model": "m"}},
        agent(outcome={"enum": ["error", "a", "a", 3, ""]}),
        agent(guardrails={"inputs": ["artifact://g@1"], "output": [3, "inline"]}),
    ],
    ids=["TV401-unknown", "TV401-absent", "TV402", "TV402-tools", "TV403-empty", "TV403-absent", "TV406", "TV407"],
)
def test_what_another_rule_says_is_not_said_twice(fields: JsonObject) -> None:
    assert shape_problems(workflow(fields), kind="Workflow") == []


def test_agent_without_mode_is_still_checked_for_the_rest() -> None:
    step = agent(max_iterations=0, prompt="x", zzzzz=1)
    del step["mode"]
    assert codes(workflow(step)) == ["TV102", "TV101"]


def test_agent_needs_a_model_unless_the_project_gives_one() -> None:
    step = agent("completion", prompt="x")
    del step["agent"]["model"]  # type: ignore[union-attr,arg-type,call-overload]
    problem = only(workflow(step))
    assert (problem.code, problem.path) == ("TV103", ("spec", "steps", 0, "agent"))
    assert "default_model" in (problem.hint or "")
    assert shape_problems(workflow(step), kind="Workflow", project_default_model=True) == []


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_text() -> None:
    document = copy.deepcopy(WORKFLOW)
    document["spec"]["limits"]["max_steps"] = 0  # type: ignore[index,call-overload]
    document["spec"]["steps"][0]["runner"] = 3  # type: ignore[index,call-overload]
    document["spec"]["steps"][6]["http"]["methd"] = "GET"  # type: ignore[index,call-overload]
    document["spec"]["steps"][-1]["kind"] = "Foreach"  # type: ignore[index,call-overload]
    assert codes(document) == ["TV102", "TV102", "TV101", "TV104"]


@pytest.mark.parametrize("data", [None, 3, "text", [], [1]], ids=repr)
def test_document_that_is_no_mapping_is_one_problem(data: JsonValue) -> None:
    problem = only(data)
    assert (problem.code, problem.path) == ("TV102", ())


def test_mcp_artifact_is_checked_by_its_transport() -> None:
    document = {
        "kind": "Artifact",
        "metadata": {"name": "m"},
        "spec": {"type": "mcp", "transport": "http", "command": "x"},
    }
    assert codes(document, "Artifact") == ["TV101", "TV103"]
    document["spec"] = {"type": "mcp", "transport": "pipe"}
    problem = only(document, "Artifact")
    assert problem.message == "`spec.transport` must be one of `stdio`, `http`, `sse`, not the text 'pipe'"
