"""The checks of data flow, where their reading is not obvious."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.check.finding import Report

INPUT = """
input:
  type: object
  additionalProperties: false
  required: [a]
  properties: { a: { type: string }, maybe: { type: string } }
"""
CALL = 'kind: APICall, http: { url: "https://shop.example/" }'
NODES = """\
from tuvl import node


@node("known", reads=["a"], writes=["made"], signals=["default", "other"])
def known(ctx): ...


@node("silent")
def silent(ctx): ...
"""


def report(tmp_path: Path, steps: str, head: str = INPUT, **files: str) -> Report:
    return check(tmp_path, workflow(steps, head) | {"nodes/n.py": NODES} | files)


def weights(found: Report, code: str = "TV501") -> list[str]:
    return [str(finding.severity) for finding in of(found, code)]


def show(key: str, id: str = "show") -> str:
    return f'{{ id: {id}, kind: Functional, runner: set, values: {{ shown: "{{{{ {key} }}}}" }} }}'


class TestUndefinedKey:
    def test_key_that_nothing_brings_is_an_error_where_the_input_is_closed(self, tmp_path: Path) -> None:
        assert weights(report(tmp_path, f"- {show('b')}")) == ["error"]

    def test_it_is_a_warning_where_the_input_may_bring_more(self, tmp_path: Path) -> None:
        head = INPUT.replace("  additionalProperties: false\n", "")
        assert weights(report(tmp_path, f"- {show('b')}", head)) == ["warning"]

    def test_nothing_is_said_where_the_input_is_not_described(self, tmp_path: Path) -> None:
        assert weights(report(tmp_path, f"- {show('b')}", head="")) == []

    @pytest.mark.parametrize(
        "schema",
        [
            "additionalProperties: false",
            "additionalProperties: false, properties: {}",
            "additionalProperties: false, patternProperties: { '^x_': {} }",
            "maxProperties: 0",
            "unevaluatedProperties: false",
            "allOf: [{ additionalProperties: false, properties: { a: {} } }]",
            "allOf: [{ properties: { b: {} } }, { additionalProperties: false }]",
            "$ref: '#/$defs/nothing', $defs: { nothing: { additionalProperties: false } }",
            "not: {}",
        ],
    )
    def test_key_that_no_input_can_hold_is_an_error_however_the_schema_says_so(
        self, tmp_path: Path, schema: str
    ) -> None:
        found = report(tmp_path, f"- {show('b')}", f"input: {{ type: object, {schema} }}\noutput: c")
        assert weights(found) == ["error"]
        assert weights(found, "TV505") == ["error"]

    @pytest.mark.parametrize(
        "schema",
        ["{}", "{ type: object }", "{ required: [a] }", "{ anyOf: [{ additionalProperties: false }, {}] }"],
    )
    def test_nothing_is_said_where_the_schema_names_no_keys_and_lets_all_in(self, tmp_path: Path, schema: str) -> None:
        found = report(tmp_path, f"- {show('b')}", f"input: {schema}\noutput: c")
        assert weights(found) == weights(found, "TV505") == []

    def test_key_that_a_part_of_the_schema_requires_is_there(self, tmp_path: Path) -> None:
        head = "input: { allOf: [{ $ref: '#/$defs/x' }], $defs: { x: { required: [b], properties: { b: {} } } } }"
        assert weights(report(tmp_path, f"- {show('b')}", head)) == []

    def test_answer_of_which_the_schema_takes_no_field_brings_none(self, tmp_path: Path) -> None:
        steps = f"""
            - id: ask
              kind: Agent
              mode: completion
              agent: {{ model: own/x, prompt: Hi., outcome: {{ format: json, schema: {{ maxProperties: 0 }} }} }}
              routes: {{ parse_error: END, timeout: END, error: END, aborted: END }}
            - {show("b")}
        """
        assert weights(report(tmp_path, steps)) == ["error"]

    def test_optional_key_of_the_input_is_a_warning(self, tmp_path: Path) -> None:
        found = report(tmp_path, f"- {show('maybe')}")
        assert weights(found) == ["warning"]
        assert "which `spec.input` does not require" in messages(found, "TV501")[0]

    @pytest.mark.parametrize("key", ["maybe | default('x')", "'x' if maybe is not defined else maybe"])
    def test_default_and_is_defined_provide_for_its_absence(self, tmp_path: Path, key: str) -> None:
        assert weights(report(tmp_path, f"- {show(key)}")) == []

    def test_failed_call_has_written_nothing_but_the_engine_keys(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: load, {CALL}, response: {{ output_key: order }}, routes: {{ error: show }} }}
            - {show("order ~ _last_error")}
        """
        found = messages(report(tmp_path, steps), "TV501")
        assert {message.split("'")[3]: message.rpartition(": ")[2] for message in found} == {
            "order": "load (error) → show",
            "_last_error": "load → show",
        }

    def test_engine_keys_are_there_after_a_failure(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: load, {CALL}, routes: {{ default: END, error: show }} }}
            - {show("_last_error_type")}
        """
        assert weights(report(tmp_path, steps)) == []

    def test_key_that_a_step_could_not_do_without_is_there_after_it(self, tmp_path: Path) -> None:
        steps = f"- {show('maybe', 'first')}\n- {show('maybe', 'second')}"
        assert len(weights(report(tmp_path, steps))) == 1

    def test_condition_that_may_not_come_to_it_makes_no_error(self, tmp_path: Path) -> None:
        steps = """
            - id: show
              kind: Functional
              runner: set
              values: { shown: "{% if a == 'x' %}{{ b }}{% endif %}" }
        """
        assert weights(report(tmp_path, steps)) == ["warning"]

    def test_node_that_says_nothing_may_have_written_anything(self, tmp_path: Path) -> None:
        assert weights(report(tmp_path, f"- {{ id: n, kind: Functional, runner: silent }}\n- {show('b')}")) == []

    def test_declared_writes_of_a_node_are_there_on_its_own_signals(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: n, kind: Functional, runner: known, routes: {{ other: show, error: END }} }}
            - {show("made")}
        """
        assert weights(report(tmp_path, steps)) == []

    def test_answer_in_json_may_hold_any_field_unless_a_schema_lists_them(self, tmp_path: Path) -> None:
        steps = """
            - id: ask
              kind: Agent
              mode: completion
              agent: {{ model: own/x, prompt: Hi., outcome: {{ format: json{schema} }} }}
              routes: {{ parse_error: END, timeout: END, error: END, aborted: END }}
            - {show}
        """
        assert weights(report(tmp_path, steps.format(schema="", show=show("field")))) == []
        listed = ", schema: { type: object, properties: { fild: {} }, required: [fild] }"
        found = report(tmp_path, steps.format(schema=listed, show=show("field")))
        assert weights(found) == ["warning"]
        assert of(found, "TV501")[0].hint == "did you mean 'fild'?"

    def test_tool_that_writes_may_not_have_been_called(self, tmp_path: Path) -> None:
        steps = f"""
            - id: work
              kind: Agent
              mode: autonomous
              agent: {{ model: own/x, steering: Work., tools: [{{ ref: n, writes_context: true }}] }}
              routes: {{ max_iterations: END, error: END, aborted: END }}
            - {show("made")}
            - {{ id: n, kind: Functional, runner: known, description: Makes it. }}
        """
        found = report(tmp_path, steps)
        assert weights(found) == ["warning"]
        assert messages(found, "TV501")[0].endswith("which is not written on every way there: work → show")

    def test_tool_reads_what_is_there_when_its_agent_runs(self, tmp_path: Path) -> None:
        steps = f"""
            - id: work
              kind: Agent
              mode: autonomous
              agent:
                model: own/x
                steering: Work.
                tools: [{{ ref: look, parameters: {{ type: object, properties: {{ number: {{ type: string }} }} }} }}]
              routes: {{ max_iterations: END, error: END, aborted: END }}
            - {{ id: later, {CALL}, response: {{ output_key: order }}, routes: {{ default: work }} }}
            - id: look
              kind: APICall
              description: Look it up.
              http: {{ url: "https://shop.example/{{{{ number }}}}/{{{{ order.id }}}}" }}
        """
        found = messages(report(tmp_path, steps), "TV501")
        assert len(found) == 1
        assert "'order'" in found[0]
        assert "work → look" in found[0]

    def test_item_of_a_list_is_there_for_its_body(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: each, kind: ForEach, items: ["x"], as: one, step: show }}
            - {show("one ~ a")}
        """
        assert weights(report(tmp_path, steps)) == []

    def test_prompt_that_is_a_template_is_read_like_any_other(self, tmp_path: Path) -> None:
        steps = """
            - id: ask
              kind: Agent
              mode: completion
              agent: { model: own/x, prompt: "artifact://p@1" }
              routes: { timeout: END, error: END, aborted: END }
        """
        prose = "---\nname: p\ntype: prompt\ntemplate: true\n---\nAnswer {{ question }}.\n"
        found = report(tmp_path, steps, **{"artifacts/p.md": prose})
        assert "reads 'question' in `artifact://p@1`" in messages(found, "TV501")[0]

    def test_injected_key_that_is_never_there_is_a_warning(self, tmp_path: Path) -> None:
        steps = """
            - id: ask
              kind: Agent
              mode: completion
              agent: { model: own/x, prompt: Hi., context_injection: [txet, a] }
              routes: { timeout: END, error: END, aborted: END }
        """
        assert weights(report(tmp_path, steps)) == ["warning"]


class TestOverwrittenUnread:
    def test_read_in_between_is_a_use(self, tmp_path: Path) -> None:
        one = f"{{ id: one, {CALL}, response: {{ output_key: r }} }}"
        two = f"{{ id: two, {CALL}, response: {{ output_key: r }} }}"
        assert len(messages(report(tmp_path, f"- {one}\n- {two}"), "TV502")) == 1
        assert messages(report(tmp_path, f"- {one}\n- {show('r')}\n- {two}"), "TV502") == []

    def test_counter_that_a_cycle_reads_is_used(self, tmp_path: Path) -> None:
        steps = """
            - { id: count, kind: Functional, runner: set, values: { n: "{{ (n | default(0)) + 1 }}" } }
            - id: enough
              kind: Router
              condition: { field: n, operator: gt, value: 3 }
              routes: { "true": END, "false": count, error: END }
        """
        assert messages(report(tmp_path, steps), "TV502") == []

    def test_way_to_an_end_keeps_it(self, tmp_path: Path) -> None:
        steps = """
            - { id: one, kind: Functional, runner: set, values: { r: 1 } }
            - id: again
              kind: Router
              condition: { field: a, operator: eq, value: x }
              routes: { "true": two, "false": END, error: END }
            - { id: two, kind: Functional, runner: set, values: { r: 2 } }
        """
        assert messages(report(tmp_path, steps), "TV502") == []


class TestInputMismatch:
    HEAD = """
    input:
      type: object
      required: [text, n, list, order]
      properties:
        text: { type: string }
        n: { type: integer }
        list: { type: array, items: { type: object, additionalProperties: false, properties: { id: {} } } }
        order: { type: object, additionalProperties: false, properties: { total: { type: number } } }
    """

    @pytest.mark.parametrize(
        ("step", "part"),
        [
            (show("text.subject"), "'text' is a string by `spec.input`, which has no 'subject'"),
            (show("n.value"), "'n' is an integer"),
            (show("list.first"), "'list' is an array"),
            (show("list.0.idd"), "'list.0' has no 'idd'"),
            (show("order.totl"), "'order' has no 'totl'"),
            ('{ id: each, kind: ForEach, items: "{{ n }}", step: x }', "goes through 'n', an integer"),
        ],
    )
    def test_use_that_its_type_rules_out_is_an_error(self, tmp_path: Path, step: str, part: str) -> None:
        body = "- { id: x, kind: Functional, runner: set, values: { y: 1 } }"
        found = messages(report(tmp_path, f"- {step}\n{body}", self.HEAD), "TV503")
        assert len(found) == 1
        assert part in found[0]

    @pytest.mark.parametrize("key", ["text.0", "order.total", "list.0.id", "text.subject | default('x')", "n + 1"])
    def test_use_that_fits_is_silent(self, tmp_path: Path, key: str) -> None:
        assert messages(report(tmp_path, f"- {show(key)}", self.HEAD), "TV503") == []

    def test_key_that_a_step_writes_too_is_left_out(self, tmp_path: Path) -> None:
        steps = f"- {{ id: w, {CALL}, response: {{ output_key: text }} }}\n- {show('text.subject')}"
        assert messages(report(tmp_path, steps, self.HEAD), "TV503") == []

    @pytest.mark.parametrize(
        "rest", ["properties: { y: {} }", "patternProperties: { '^y': {} }", "allOf: [{ properties: { x: {} } }]"]
    )
    def test_required_key_that_is_forbidden_fits_no_input(self, tmp_path: Path, rest: str) -> None:
        head = f"input: {{ type: object, additionalProperties: false, required: [x], {rest} }}"
        assert "no input fits" in messages(report(tmp_path, f"- {show('y')}", head), "TV503")[0]


class TestOutput:
    def test_response_on_the_way_gives_the_output(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: load, {CALL}, response: {{ output_key: order }}, routes: {{ default: END, error: sorry }} }}
            - {{ id: sorry, kind: Response, mapping: {{ text: a }} }}
        """
        assert messages(report(tmp_path, steps, INPUT + "output: order"), "TV505") == []

    def test_output_that_no_end_has_is_an_error(self, tmp_path: Path) -> None:
        found = report(tmp_path, f"- {{ id: load, {CALL} }}", INPUT + "output: order")
        assert weights(found, "TV505") == ["error"]

    def test_failed_runs_have_no_output_to_miss(self, tmp_path: Path) -> None:
        steps = f"- {{ id: load, {CALL}, response: {{ output_key: order }} }}"
        assert messages(report(tmp_path, steps, INPUT + "output: order.id"), "TV505") == []


class TestReservedKey:
    @pytest.mark.parametrize(
        "step",
        [
            "kind: Functional, runner: set, values: { _x: 1 }",
            CALL + ", response: { extract: [{ path: id, as: _x }] }",
            "kind: Agent, mode: completion, agent: { model: own/x, prompt: Hi., outcome: { write: _x } }",
        ],
    )
    def test_every_way_to_set_one_is_an_error(self, tmp_path: Path, step: str) -> None:
        assert weights(report(tmp_path, f"- {{ id: s, {step} }}"), "TV504") == ["error"]

    def test_input_and_arguments_cannot_bring_one_either(self, tmp_path: Path) -> None:
        head = "input: { type: object, properties: { _x: {} } }"
        assert weights(report(tmp_path, f"- {show('a')}", head), "TV504") == ["error"]
