"""The checks of agents, where their reading is not obvious; and the seed's own table of checks."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.check.finding import Report

EXITS = "max_iterations: END, error: END, aborted: END"
TOOL = '{ id: find, kind: APICall, description: Find an order., http: { url: "https://a.example/{{ number }}" } }'
PARAMETERS = "parameters: { type: object, properties: { number: { type: string } }, required: [number] }"


def agent(
    tmp_path: Path,
    fields: str = "",
    *,
    tool: str = TOOL,
    entry: str = PARAMETERS,
    head: str = "",
    steering: str = "steering: Do it.,",
    mode: str = "mode: autonomous",
    routes: str = EXITS,
    files: dict[str, str] | None = None,
) -> Report:
    """Check an autonomous agent with one tool; what is not given is in order."""
    steps = f"""
        - id: a
          kind: Agent
          timeout_s: 60
          {mode}
          agent: {{ model: own/x, {steering} tools: [{{ ref: find, {entry} }}], {fields} }}
          routes: {{ {routes} }}
        - {tool}
    """
    return check(tmp_path, workflow(steps, head) | (files or {}))


def test_agent_in_order_is_silent(tmp_path: Path) -> None:
    assert weighty(agent(tmp_path)) == []


def weighty(report: Report) -> list[str]:
    """Codes of the warnings and errors."""
    return [finding.code for finding in report.findings if finding.severity != "note"]


class TestTableOfTheSeed:
    """One line of the seed's validation table each, with its severity."""

    @pytest.mark.parametrize("mode", ["", "mode: chatty", "mode: 5"])
    def test_mode_is_required(self, tmp_path: Path, mode: str) -> None:
        report = agent(tmp_path, mode=mode)
        assert [str(finding.severity) for finding in of(report, "TV401")] == ["error"]
        assert report.errors == 1

    def test_unknown_model_is_a_warning(self, tmp_path: Path) -> None:
        steps = "- { id: a, kind: Agent, mode: completion, agent: { model: nobody, prompt: Hi. } }"
        assert [str(finding.severity) for finding in of(check(tmp_path, workflow(steps)), "TV206")] == ["warning"]

    @pytest.mark.parametrize("field", ["system", "prompt"])
    def test_completion_field_on_an_autonomous_agent_is_an_error(self, tmp_path: Path, field: str) -> None:
        report = agent(tmp_path, f"{field}: Hi.")
        assert [finding.path for finding in of(report, "TV402")] == [f"spec.steps[0].agent.{field}"]
        assert weighty(report) == ["TV402"]

    @pytest.mark.parametrize(
        "field", ["steering: Hi.", "tools: [{ ref: find }]", "token_budget: 5", "max_iterations: 2"]
    )
    def test_field_of_the_loop_on_a_completion_is_an_error(self, tmp_path: Path, field: str) -> None:
        steps = f"- {{ id: a, kind: Agent, mode: completion, agent: {{ model: a/b, prompt: Hi., {field} }} }}\n- {TOOL}"
        report = check(tmp_path, workflow(steps))
        assert [str(finding.severity) for finding in of(report, "TV402")] == ["error"]
        assert messages(report, "TV101") == []

    @pytest.mark.parametrize("steering", ["", 'steering: " ",'])
    def test_missing_steering_is_a_warning(self, tmp_path: Path, steering: str) -> None:
        found = of(agent(tmp_path, steering=steering), "TV405")
        assert [str(finding.severity) for finding in found] == ["warning"]

    @pytest.mark.parametrize("tools", ["", "tools: []"])
    def test_no_tools_is_an_error(self, tmp_path: Path, tools: str) -> None:
        step = f"kind: Agent, mode: autonomous, agent: {{ model: a/b, steering: Go., {tools} }}, routes: {{ {EXITS} }}"
        report = check(tmp_path, workflow(f"- {{ id: a, timeout_s: 60, {step} }}"))
        assert [(finding.code, str(finding.severity)) for finding in report.findings] == [("TV403", "error")]

    def test_tool_without_any_description_is_an_error(self, tmp_path: Path) -> None:
        report = agent(tmp_path, tool=TOOL.replace("description: Find an order.,", ""))
        assert [str(finding.severity) for finding in of(report, "TV404")] == ["error"]

    def test_description_may_stand_on_either(self, tmp_path: Path) -> None:
        bare = TOOL.replace("description: Find an order.,", "")
        assert messages(agent(tmp_path, tool=bare, entry=f"description: Find it., {PARAMETERS}"), "TV404") == []

    def test_unmapped_outcome_is_an_error_at_its_value(self, tmp_path: Path) -> None:
        found = of(agent(tmp_path, "outcome: { enum: [solved, passed] }", routes=f"solved: END, {EXITS}"), "TV203")
        assert [(finding.path, str(finding.severity)) for finding in found] == [
            ("spec.steps[0].agent.outcome.enum[1]", "error")
        ]

    def test_guardrails_on_tools_of_a_completion_are_an_error(self, tmp_path: Path) -> None:
        block = "{ model: a/b, prompt: Hi., guardrails: { tools: [artifact://g@1] } }"
        steps = f"- {{ id: a, kind: Agent, mode: completion, agent: {block} }}"
        assert len(of(check(tmp_path, workflow(steps)), "TV407")) == 1

    @pytest.mark.parametrize(
        "guardrails", ["{ before: [artifact://g@1] }", "{ input: [g] }", "{ input: [5] }", "{ input: artifact://g@1 }"]
    )
    def test_guardrails_elsewhere_or_inline_are_an_error(self, tmp_path: Path, guardrails: str) -> None:
        report = agent(tmp_path, f"guardrails: {guardrails}", routes=f"guardrail_violation: END, {EXITS}")
        assert [str(finding.severity) for finding in of(report, "TV407")] == ["error"]


class TestOutcomes:
    @pytest.mark.parametrize("value", ["max_iterations", "budget_exceeded", "error", "aborted", "guardrail_violation"])
    def test_reserved_exit_is_no_outcome(self, tmp_path: Path, value: str) -> None:
        report = agent(tmp_path, f"outcome: {{ enum: [solved, {value}] }}", routes=f"solved: END, {EXITS}")
        assert [finding.code for finding in report.findings if finding.severity == "error"] == ["TV406"]

    @pytest.mark.parametrize("enum", ["[solved, solved]", '[solved, ""]', "[solved, 5]", "[solved, null]"])
    def test_outcomes_are_distinct_texts(self, tmp_path: Path, enum: str) -> None:
        report = agent(tmp_path, f"outcome: {{ enum: {enum} }}", routes=f"solved: END, {EXITS}")
        assert [finding.code for finding in report.findings if finding.severity == "error"] == ["TV406"]

    def test_fields_of_an_answer_that_meet_in_one_key_are_an_error(self, tmp_path: Path) -> None:
        steps = """
            - id: a
              kind: Agent
              mode: completion
              agent: { model: o/m-1, prompt: Count., outcome: { format: json, map: { n: num, k: key, m: num } } }
        """
        (found,) = [each for each in check(tmp_path, workflow(steps)).findings if each.severity == "error"]
        assert (found.code, found.path) == ("TV406", "spec.steps[0].agent.outcome.map.m")
        assert found.message == "the answer's fields 'n' and 'm' of step 'a' both go to context key 'num'"

    def test_outcome_named_default_falls_through(self, tmp_path: Path) -> None:
        report = agent(tmp_path, "outcome: { enum: [solved, default] }", routes=f"solved: END, {EXITS}")
        assert messages(report, "TV203") == []


class TestNames:
    @pytest.mark.parametrize("name", ["crm.customers/get", "t" * 80])
    def test_name_that_providers_refuse_is_reported_at_the_tool(self, tmp_path: Path, name: str) -> None:
        """Fault I03: the message names the tool."""
        steps = f"""
            - id: a
              kind: Agent
              mode: autonomous
              agent: {{ model: a/b, steering: Go., tools: [{{ ref: {name}, description: It., {PARAMETERS} }}] }}
              routes: {{ {EXITS} }}
            - {TOOL.replace("id: find", f"id: {name}")}
        """
        (finding,) = of(check(tmp_path, workflow(steps)), "TV410")
        assert finding.path == "spec.steps[0].agent.tools[0].ref"
        assert name[:40] in finding.message

    def test_each_name_is_offered_once(self, tmp_path: Path) -> None:
        (finding,) = of(agent(tmp_path, entry=PARAMETERS + " }, { ref: find, " + PARAMETERS), "TV410")
        assert finding.path == "spec.steps[0].agent.tools[1].ref"


class TestParameters:
    INPUT = "input: { type: object, properties: { ticket: { type: string } } }"

    def test_placeholder_that_nothing_supplies_is_reported(self, tmp_path: Path) -> None:
        report = agent(tmp_path, head=self.INPUT, tool=TOOL.replace("{{ number }}", "{{ number }}/{{ line }}"))
        assert ["'line'" in message for message in messages(report, "TV408")] == [True]

    @pytest.mark.parametrize(
        "wanted", ["{{ ticket }}", "{{ line | default(1) }}", "{{ _last_error }}", "{{ args.number }}"]
    )
    def test_placeholder_that_is_supplied_is_not(self, tmp_path: Path, wanted: str) -> None:
        tool = TOOL.replace("{{ number }}", "{{ number }}/" + wanted)
        assert messages(agent(tmp_path, head=self.INPUT, tool=tool), "TV408") == []

    @pytest.mark.parametrize(
        "step",
        [
            'Functional, runner: set, values: { found: "{{ number }}" }',
            'Functional, runner: set, values: { found: "{{ args.number }}" }',
            'Workflow, workflow: w, input: { number: "{{ number }}" }',
            'ForEach, items: "{{ number }}", step: body',
        ],
    )
    def test_placeholder_of_a_step_that_takes_any_arguments_is_told_to_nobody(self, tmp_path: Path, step: str) -> None:
        tool = f"{{ id: find, kind: {step} }}"
        (message,) = messages(agent(tmp_path, head=self.INPUT, tool=tool, entry="writes_context: false"), "TV408")
        assert "reads 'number'" in message

    def test_placeholder_of_such_a_step_that_the_context_supplies_is_not(self, tmp_path: Path) -> None:
        tool = '{ id: find, kind: Functional, runner: set, values: { found: "{{ ticket }}" } }'
        report = agent(tmp_path, head=self.INPUT, tool=tool, entry="writes_context: false")
        assert messages(report, "TV408") == []

    def test_key_that_another_step_writes_is_supplied(self, tmp_path: Path) -> None:
        tool = TOOL.replace("{{ number }}", "{{ number }}/{{ line }}")
        tool += "\n        - { id: b, kind: Functional, runner: set, values: { line: 1 } }"
        assert messages(agent(tmp_path, head=self.INPUT, tool=tool), "TV408") == []

    def test_without_an_input_schema_nobody_can_tell(self, tmp_path: Path) -> None:
        tool = TOOL.replace("{{ number }}", "{{ number }}/{{ line }}")
        assert messages(agent(tmp_path, tool=tool), "TV408") == []

    def test_node_that_does_not_say_what_it_writes_may_supply_anything(self, tmp_path: Path) -> None:
        tool = TOOL.replace("{{ number }}", "{{ number }}/{{ line }}")
        tool += "\n        - { id: b, kind: Functional, runner: load }"
        files = {"nodes/load.py": 'from tuvl import node\n@node("load")\ndef load(ctx): ...\n'}
        assert messages(agent(tmp_path, head=self.INPUT, tool=tool, files=files), "TV408") == []

    def test_node_reads_its_arguments_in_python(self, tmp_path: Path) -> None:
        files = {"nodes/load.py": 'from tuvl import node\n@node("load", reads=["number"])\ndef load(ctx): ...\n'}
        report = agent(tmp_path, tool="{ id: find, kind: Functional, description: It., runner: load }", files=files)
        assert messages(report, "TV408") == []

    def test_template_that_takes_all_arguments_uses_each(self, tmp_path: Path) -> None:
        tool = (
            TOOL.replace("{{ number }}", "x")
            .replace("} }", '", method: POST, json: "{{ args }}" } }')
            .replace('""', '"')
        )
        assert messages(agent(tmp_path, tool=tool), "TV408") == []

    @pytest.mark.parametrize(
        ("tool", "schema"),
        [
            (TOOL, '{"number":{"description":"Goes into http.url."}},"required":["number"]}'),
            (
                '{ id: find, kind: APICall, description: It., http: { url: "https://a.io/{{ a | default(1) }}" } }',
                '"properties":{"a":{"description":"Goes into http.url."}}}',
            ),
            (
                "{ id: find, kind: MCP, description: It., mcp: { server: artifact://s@1, tool: x, "
                'arguments: { q: "{{ q }}", limit: 5 } } }',
                '{"q":{"description":"Goes into the argument q."}},"required":["q"]}',
            ),
            (
                '{ id: find, kind: ModelOp, description: It., model: Order, operation: create, payload: "{{ all }}" }',
                '"properties":{"all":{"description":"Goes into payload."}},"required":["all"]}',
            ),
            (
                "{ id: find, kind: ModelOp, description: It., model: Order, operation: create, "
                'payload: "{{ payload }}" }',
                '"payload":{"type":"object","description":"Field → value of the record."}},"required":["payload"]}',
            ),
            ("{ id: find, kind: Functional, description: It., runner: set, values: { x: 1 } }", '"properties":{}}'),
        ],
        ids=["placeholder", "optional", "mcp", "model", "payload", "open"],
    )
    def test_derived_parameters_are_shown(self, tmp_path: Path, tool: str, schema: str) -> None:
        (message,) = messages(agent(tmp_path, tool=tool, entry="writes_context: false"), "TV409")
        assert message.endswith(schema)


class TestShadows:
    INPUT = "input: { type: object, properties: { number: { type: string }, other: { type: string } } }"

    def test_declared_argument_over_a_context_key_is_reported(self, tmp_path: Path) -> None:
        (finding,) = of(agent(tmp_path, head=self.INPUT), "TV414")
        assert finding.path.endswith("parameters.properties.number")

    def test_derived_argument_over_a_context_key_is_reported(self, tmp_path: Path) -> None:
        (finding,) = of(agent(tmp_path, head=self.INPUT, entry="writes_context: false"), "TV414")
        assert finding.path.endswith("tools[0].ref")

    def test_argument_read_as_an_argument_hides_nothing(self, tmp_path: Path) -> None:
        tool = TOOL.replace("{{ number }}", "{{ args.number }}")
        assert messages(agent(tmp_path, head=self.INPUT, tool=tool), "TV414") == []

    def test_argument_with_a_name_of_its_own_hides_nothing(self, tmp_path: Path) -> None:
        head = self.INPUT.replace("number:", "ticket:")
        assert messages(agent(tmp_path, head=head), "TV414") == []

    @pytest.mark.parametrize("name", ["user_id", "tenantId", "tenant-id", "principal"])
    def test_model_does_not_choose_identities(self, tmp_path: Path, name: str) -> None:
        entry = PARAMETERS.replace("number: {", f"{name}: {{ type: string }}, number: {{")
        assert ["an identity" in message for message in messages(agent(tmp_path, entry=entry), "TV414")] == [True]


class TestSchemas:
    @pytest.mark.parametrize(
        ("parameters", "place"),
        [
            ("{ type: array, items: { type: string } }", "parameters.type"),
            ("{ properties: { number: { type: string } } }", "parameters"),
            ("{ type: object, anyOf: [{ required: [a] }] }", "parameters.anyOf"),
            ("{ type: object, properties: { a: { type: array } } }", "parameters.properties.a.type"),
            ('{ type: object, properties: { "a b": { type: string } } }', "parameters.properties.a b"),
            (
                '{ type: object, properties: { a: { $ref: "https://x.example/a.json" } } }',
                "parameters.properties.a.$ref",
            ),
            (
                '{ type: object, properties: { a: { $ref: "#/$defs/n" } }, '
                '$defs: { n: { type: object, properties: { next: { $ref: "#/$defs/n" } } } } }',
                "parameters.$defs.n.properties.next.$ref",
            ),
            ('{ type: object, properties: { a: { $ref: "#" } } }', "parameters.properties.a.$ref"),
        ],
    )
    def test_construct_that_a_provider_refuses_is_reported(self, tmp_path: Path, parameters: str, place: str) -> None:
        (finding,) = of(agent(tmp_path, entry=f"parameters: {parameters}"), "TV411")
        assert finding.path.endswith(place)
        assert "'find'" in finding.message

    @pytest.mark.parametrize(
        "parameters",
        [
            "{}",
            "{ type: object }",
            "{ type: object, properties: {} }",
            "{ type: object, properties: { a: { type: [string, 'null'] } }, additionalProperties: false }",
            '{ type: object, properties: { a: { $ref: "#/$defs/n" } }, $defs: { n: { type: string } } }',
            "{ type: object, properties: { type: { enum: [array] }, items: { type: string } } }",
            "{ type: object, properties: { a: { enum: [{ type: array }], default: { type: array } } } }",
            "{ type: object, properties: { a: { type: array, items: { anyOf: [{ type: string }] } } } }",
        ],
    )
    def test_ordinary_schema_is_not(self, tmp_path: Path, parameters: str) -> None:
        assert messages(agent(tmp_path, entry=f"parameters: {parameters}"), "TV411") == []


class TestConfusable:
    def tools(self, tmp_path: Path, *descriptions: str, head: str = "", model: str = "a/b", **files: str) -> list[str]:
        entries = ", ".join(
            f"{{ ref: t{number}, description: {text!r}, parameters: {{ type: object }} }}"
            for number, text in enumerate(descriptions)
        )
        block = f"{{ model: {model}, steering: Go., tools: [{entries}] }}"
        steps = f"- {{ id: a, kind: Agent, mode: autonomous, agent: {block} }}\n"
        steps += "\n".join(
            f"- {{ id: t{number}, kind: Functional, runner: log, message: Hi. }}" for number in range(len(descriptions))
        )
        return messages(check(tmp_path, workflow(steps, head) | files), "TV413")

    def test_same_description_in_other_words_of_no_weight_is_confusable(self, tmp_path: Path) -> None:
        assert self.tools(tmp_path, "Find the order by number.", "find order by the number")

    def test_descriptions_that_differ_in_what_they_do_are_not(self, tmp_path: Path) -> None:
        assert not self.tools(tmp_path, "Find one order by its number.", "Find one invoice by its number.")
        assert not self.tools(tmp_path / "b", "Open the order.", "Close the order.")

    def test_more_than_twenty_tools_are_too_many(self, tmp_path: Path) -> None:
        names = [f"Do the work of kind {number}." for number in range(21)]
        assert ["21 tools" in message for message in self.tools(tmp_path, *names)] == [True]
        assert not self.tools(tmp_path / "b", *names[:20])

    def test_tools_above_a_tenth_of_the_window_are_too_large(self, tmp_path: Path) -> None:
        head = "kind: AgentModel\nmetadata: {{ name: small }}\n"
        preset = head + "spec: {{ provider: openai, model: x, context_window: {} }}\n"
        said = self.tools(tmp_path, "word " * 400, model="small", **{"llms/s.yaml": preset.format(4000)})
        assert ["a tenth of the model's window is 400" in message for message in said] == [True]
        assert not self.tools(tmp_path / "b", "word " * 400, model="small", **{"llms/s.yaml": preset.format(100_000)})


class TestSupervisor:
    @pytest.mark.parametrize(
        ("judge", "missing"), [("{ model: a/b }", "`criteria`"), ("{ criteria: Be good. }", "`model`")]
    )
    def test_half_a_judge_is_reported(self, tmp_path: Path, judge: str, missing: str) -> None:
        head = f"supervisor: {{ watches: [a], judge: {judge} }}"
        assert messages(agent(tmp_path, head=head), "TV412") == [
            f"the supervisor's judge has no {missing}, so it never judges"
        ]

    def test_whole_judge_is_not(self, tmp_path: Path) -> None:
        head = "supervisor: { watches: [a], judge: { model: a/b, criteria: Be good. } }"
        assert messages(agent(tmp_path, head=head), "TV412") == []

    @pytest.mark.parametrize("budget", ["token_budget: 9", "cost_budget_usd: 1.0"])
    def test_fraction_of_a_budget_that_is_there_is_fine(self, tmp_path: Path, budget: str) -> None:
        head = "supervisor: { watches: [a], rules: [{ when: budget_fraction, then: abort }] }"
        assert messages(agent(tmp_path, budget, head=head), "TV412") == []


class TestTemplates:
    @pytest.mark.parametrize(
        "step",
        [
            'kind: Router, condition: { field: a, operator: eq, value: "{{ b }}" }, routes: { "true": s }',
            'kind: Functional, runner: log, message: Hi., description: "Writes {{ b }}."',
            'kind: Response, source: "{{ b }}"',
            'kind: APICall, http: { url: "https://a.example/${SHOP}" }',
            'kind: Agent, mode: completion, agent: { model: a/b, prompt: "Say ${NAME}." }',
        ],
        ids=["value", "description", "source", "url", "prompt"],
    )
    def test_braces_that_stay_as_they_are_are_reported(self, tmp_path: Path, step: str) -> None:
        assert len(messages(check(tmp_path, workflow(f"- {{ id: s, {step} }}")), "TV415")) == 1

    @pytest.mark.parametrize(
        "step",
        [
            'kind: APICall, http: { url: "https://a.example/{{ b }}", auth: { bearer: "${TOKEN}" } }',
            'kind: Functional, runner: set, values: { a: { b: ["{{ c }}"] } }',
            'kind: Functional, runner: wait, seconds: "{{ s }}"',
            'kind: Functional, runner: own, params: { a: "{{ c }}" }',
            'kind: Agent, mode: completion, agent: { model: a/b, prompt: "Write `${NAME}` as is, {{ name }}." }',
            'kind: HumanInTheLoop, ui: { title: "{{ t }}", instruction: "{{ i }}" }',
            'kind: ForEach, items: "{{ list }}", step: s',
            'kind: Workflow, workflow: w2, input: { a: "{{ b }}" }',
        ],
    )
    def test_fields_that_are_rendered_are_not(self, tmp_path: Path, step: str) -> None:
        assert messages(check(tmp_path, workflow(f"- {{ id: s, {step} }}")), "TV415") == []

    def test_schema_is_data(self, tmp_path: Path) -> None:
        entry = "parameters: { type: object, properties: { number: { type: string, description: 'Like {{ x }}.' } } }"
        assert messages(agent(tmp_path, entry=entry), "TV415") == []

    @pytest.mark.parametrize(
        ("front", "body", "reported"),
        [
            ("", "Hello {{ name }}.", True),
            ("template: true\n", "Hello {{ name }}.", False),
            ("", "Answer as `{{ name }}`.", False),
            ("", "```\n{{ name }}\n```\nDone.", False),
            ("", "Use ${HOME}.", True),
            ("template: true\n", "Use ${HOME}.", True),
            ("", "Costs ${amount} or $5.", False),
        ],
    )
    def test_prose_is_rendered_only_as_a_template(self, tmp_path: Path, front: str, body: str, reported: bool) -> None:
        text = f"---\nname: p\ntype: prompt\n{front}---\n\n{body}\n"
        found = of(check(tmp_path, {"artifacts/p.md": text}), "TV415")
        assert bool(found) is reported

    def test_place_in_prose_is_the_line_of_the_file(self, tmp_path: Path) -> None:
        text = "---\nname: p\ntype: prompt\n---\n\nFirst.\nHello {{ name }}.\n"
        (finding,) = of(check(tmp_path, {"artifacts/p.md": text}), "TV415")
        assert (finding.line, finding.column) == (7, 7)
