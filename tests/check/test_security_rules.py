"""The checks of security and production: what is reported, and above all what is not."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.check.finding import Report
from tuvl.cli.render import report_text

TEXT = "text: { type: string }"
SENDS = (
    'kind: APICall, description: Sends., http: { url: "https://m.example/", method: POST, json: { b: "{{ args.b }}" } }'
)
READS = 'kind: APICall, description: Reads., http: { url: "https://m.example/{{ args.b }}" }'
FREE = "b: { type: string }"
GUARDRAIL = """
kind: Artifact
metadata: { name: g }
spec: { type: guardrail, checks: [{ check: regex_deny, patterns: [ignore] }] }
"""

SENDING = {
    "artifacts/far.yaml": (
        'kind: Artifact\nmetadata: { name: far }\nspec: { type: mcp, transport: http, url: "https://mcp.example/" }\n'
    ),
    "artifacts/near.yaml": (
        "kind: Artifact\nmetadata: { name: near }\nspec: { type: mcp, transport: stdio, command: uvx }\n"
    ),
    "workflows/sub.yaml": (
        "kind: Workflow\nmetadata: { name: sub }\nspec:\n"
        '  steps: [{ id: c, kind: APICall, http: { url: "https://m.example/{{ q }}" } }]\n'
    ),
}
"""A far and a near server, and a workflow that sends out its `q`."""


def project(
    *,
    property: str = TEXT,
    before: str = "",
    agent: str = "",
    tool: str = SENDS,
    parameter: str = FREE,
    needs: str = "",
    entry: str = "",
    mode: str = "autonomous",
    more: str = "",
) -> dict[str, str]:
    """An agent with one tool, after an input of one key."""
    head = f"input: {{ type: object, additionalProperties: false, required: [], properties: {{ {property} }} }}"
    schema = f"type: object, additionalProperties: false, required: [{needs}], properties: {{ {parameter} }}"
    parameters = f"parameters: {{ {schema} }}"
    steps = f"""
{before}
- id: work
  kind: Agent
  mode: {mode}
  agent: {{ model: own/x, steering: Work., tools: [{{ ref: tool, {parameters}, {entry} }}{more}], {agent} }}
  routes: {{ max_iterations: END, guardrail_violation: END, error: END, aborted: END }}
- {{ id: tool, {tool} }}
- {{ id: reader, {READS} }}
- {{ id: sends_item, kind: APICall, http: {{ url: "https://m.example/{{{{ item }}}}" }} }}
"""
    return workflow(steps, head) | {"artifacts/g.yaml": GUARDRAIL}


def said(tmp_path: Path, code: str = "TV702", **given: str) -> list[str]:
    return messages(check(tmp_path, project(**given)), code)


READER = f", {{ ref: reader, parameters: {{ type: object, properties: {{ {FREE} }} }} }}"


class TestUntrustedToEffect:
    def test_input_reaches_an_agent_that_writes(self, tmp_path: Path) -> None:
        (message,) = said(tmp_path)
        assert message.endswith("'text' of the input → work → tool")

    @pytest.mark.parametrize(
        "property",
        [
            'text: { type: string, pattern: "^[A-Z]-[0-9]+$" }',
            "text: { enum: [a, b] }",
            "text: { type: integer }",
            "text: { type: boolean }",
            "text: { type: array, items: { type: number } }",
            "text: { type: object, additionalProperties: false, properties: { n: { type: integer } } }",
        ],
    )
    def test_closed_input_is_clean(self, tmp_path: Path, property: str) -> None:
        assert said(tmp_path, property=property) == []

    @pytest.mark.parametrize(
        "property",
        [
            'text: { type: string, pattern: "^.*$" }',
            'text: { type: string, pattern: "[0-9]+" }',
            'text: { type: string, pattern: "^a|b$" }',
            'text: { type: string, pattern: "^[a-z ]+$" }',
            "text: {}",
            "text: { type: [string, integer] }",
        ],
    )
    def test_pattern_that_lets_prose_through_does_not_close_it(self, tmp_path: Path, property: str) -> None:
        assert len(said(tmp_path, property=property)) == 1

    def test_agent_that_can_do_nothing_is_never_reported(self, tmp_path: Path) -> None:
        assert said(tmp_path, tool=READS, parameter="b: { type: integer }") == []

    @pytest.mark.parametrize(
        "tool",
        [
            READS,
            'kind: APICall, http: { url: "https://m.example/", query: { q: "{{ args.b }}" } }',
            'kind: APICall, http: { url: "https://m.example/", headers: { x: "{{ b }}" } }',
            'kind: APICall, effects: read, http: { url: "https://m.example/", method: OPTIONS, json: "{{ args }}" }',
            "kind: MCP, effects: read, mcp: { server: artifact://far@1, tool: t, arguments: { q: '{{ b }}' } }",
            "kind: ForEach, effects: read, items: ['{{ b }}'], step: sends_item",
            "kind: Workflow, effects: read, workflow: sub, input: { q: '{{ args.b }}' }",
        ],
    )
    def test_call_that_reads_sends_out_the_words_it_is_made_with(self, tmp_path: Path, tool: str) -> None:
        (message,) = messages(check(tmp_path, project(tool=tool) | SENDING), "TV702")
        assert "which can send out what it has seen with 'tool' unasked" in message

    @pytest.mark.parametrize(
        ("tool", "parameter"),
        [
            (READS, 'b: { type: string, pattern: "^[0-9]{4}$" }'),
            (READS, "b: { type: integer }"),
            ('kind: APICall, http: { url: "https://m.example/all" }', FREE),
            ('kind: APICall, http: { url: "http://127.0.0.1:9/{{ args.b }}" }', FREE),
            (
                "kind: MCP, effects: read, mcp: { server: artifact://near@1, tool: t, arguments: { q: '{{ b }}' } }",
                FREE,
            ),
            ("kind: Workflow, effects: read, workflow: sub, input: { other: '{{ args.b }}' }", FREE),
            ("kind: ModelOp, model: T, operation: list, filters: { name: '{{ b }}' }", FREE),
        ],
    )
    def test_call_that_carries_no_words_out_is_clean(self, tmp_path: Path, tool: str, parameter: str) -> None:
        assert messages(check(tmp_path, project(tool=tool, parameter=parameter) | SENDING), "TV702") == []

    def test_words_that_go_back_to_the_host_they_came_from_are_clean(self, tmp_path: Path) -> None:
        there = 'kind: APICall, http: { url: "https://m.example/other", query: { q: "{{ b }}" } }'
        elsewhere = there.replace("m.example", "n.example")
        number = "text: { type: integer }"
        assert said(tmp_path, property=number, tool=there, more=READER) == []
        assert len(said(tmp_path, property=number, tool=elsewhere, more=READER)) == 1

    @pytest.mark.parametrize(
        "parameter", ["b: { enum: [x, y] }", "b: { type: integer }", 'b: { type: string, pattern: "^[0-9]{4}$" }']
    )
    def test_tool_that_takes_closed_values_is_no_effect(self, tmp_path: Path, parameter: str) -> None:
        assert said(tmp_path, parameter=parameter) == []

    @pytest.mark.parametrize(
        "parameter",
        [
            "b: { type: number }",
            'b: { type: [number, "null"] }',
            "b: { type: number, minimum: 0 }",
            "b: { type: number, maximum: 50 }",
            "b: { type: array, items: { type: number } }",
            "b: { type: object, additionalProperties: false, properties: { euro: { type: number } } }",
        ],
    )
    def test_amount_of_the_models_choice_is_told_with_what_bounds_it(self, tmp_path: Path, parameter: str) -> None:
        (message,) = said(tmp_path, parameter=parameter)
        assert "can act with 'tool' unasked" in message
        (finding,) = of(check(tmp_path, project(parameter=parameter)), "TV702")
        assert (finding.hint or "").endswith("or give its numbers a `minimum` and a `maximum`")

    @pytest.mark.parametrize(
        "parameter",
        [
            "b: { type: number, minimum: 0, maximum: 50 }",
            "b: { type: number, exclusiveMinimum: 0, maximum: 50.5 }",
            "b: { type: number, enum: [1.5, 2.5] }",
            "b: { type: integer }",
        ],
    )
    def test_amount_that_the_author_has_bounded_is_clean(self, tmp_path: Path, parameter: str) -> None:
        assert said(tmp_path, parameter=parameter) == []

    @pytest.mark.parametrize("entry", ["approval: required", 'approval: "{{ true }}"', 'approval: "{{ 2 > 1 }}"'])
    def test_approval_stands_in_between(self, tmp_path: Path, entry: str) -> None:
        assert said(tmp_path, entry=entry) == []

    @pytest.mark.parametrize(
        ("entry", "parameter"),
        [
            ("approval: \"{{ args.b == 'x' }}\"", FREE),
            ('approval: "{{ n > 50 }}"', f"{FREE}, n: {{ type: integer, minimum: 0, maximum: 100 }}"),
            ('approval: "{{ args.n > 50 }}"', f"{FREE}, n: {{ type: number }}"),
            ('approval: "{{ args.n > 50 }}"', "b: { type: number }, n: { type: number }"),
            ("approval: \"{{ text == 'x' }}\"", FREE),
        ],
    )
    def test_approval_that_an_argument_decides_asks_about_some_calls_only(
        self, tmp_path: Path, entry: str, parameter: str
    ) -> None:
        (message,) = said(tmp_path, entry=entry, parameter=parameter, needs="b")
        assert message.endswith("the `approval` of 'tool' asks about some calls only")

    @pytest.mark.parametrize("entry", ['approval: "{{ args.b > 100 }}"', 'approval: "{{ b > 100 or b < 0 }}"'])
    def test_amount_below_what_a_person_is_asked_about_is_the_authors_choice(self, tmp_path: Path, entry: str) -> None:
        assert said(tmp_path, entry=entry, parameter="b: { type: number }", needs="b") == []

    @pytest.mark.parametrize(
        ("entry", "parameter"),
        [
            ('approval: "{{ false }}"', FREE),
            ('approval: "{{ 1 > 2 }}"', FREE),
            ('approval: "{{ args.b == 1 }}"', "b: { type: string }"),
            ('approval: "{{ b > 50 }}"', "b: { type: number, maximum: 50 }"),
        ],
    )
    def test_approval_that_is_never_true_stands_nowhere(self, tmp_path: Path, entry: str, parameter: str) -> None:
        (message,) = said(tmp_path, entry=entry, parameter=parameter, needs="b")
        assert message.endswith("the `approval` of 'tool' is never true")

    def test_approval_that_only_an_absent_argument_brings_about_asks_about_some_calls(self, tmp_path: Path) -> None:
        (message,) = said(tmp_path, entry='approval: "{{ args.b == 1 }}"', parameter="b: { type: string }")
        assert message.endswith("asks about some calls only")

    def test_policy_that_asks_for_approval_stands_in_between(self, tmp_path: Path) -> None:
        config = "kind: ProjectConfig\nspec: { policy: { require_approval: { effects: [write] } } }\n"
        files = project(entry="approval: required") | {"tuvl.yaml": config}
        assert messages(check(tmp_path, files), "TV702") == []

    @pytest.mark.parametrize(
        ("check", "gates"),
        [
            ("check: pii_mask, fields: [x]", False),
            ("check: max_chars, limit: 100", False),
            ("check: json_schema, schema: {}", False),
            ("check: json_schema, schema: { title: Anything }", False),
            ("check: regex_deny, patterns: []", False),
            ("check: json_schema, schema: { type: object }", True),
            ("check: regex_deny, patterns: [ignore]", True),
            ("check: llm_judge, model: own/j, criteria: Is it an order?, on_judge_error: violation", True),
        ],
    )
    def test_guardrail_stands_in_between_if_it_can_refuse_words(self, tmp_path: Path, check: str, gates: bool) -> None:
        guardrail = f"kind: Artifact\nmetadata: {{ name: g }}\nspec: {{ type: guardrail, checks: [{{ {check} }}] }}\n"
        where = "guardrails: { input: [artifact://g@1], tools: [artifact://g@1] }"
        report = self.checked(tmp_path, guardrail, where)
        assert bool(messages(report, "TV702")) is not gates
        assert bool(messages(report, "TV707")) is not gates

    def checked(self, tmp_path: Path, guardrail: str, where: str) -> Report:
        return check(tmp_path, project(agent=where, more=READER) | {"artifacts/g.yaml": guardrail})

    @pytest.mark.parametrize(
        "parameter", ["b: { enum: [x, y] }", "b: { type: integer }", "", "other: { type: integer }"]
    )
    @pytest.mark.parametrize("tool", [SENDS, READS])
    def test_parameters_close_nothing_where_arguments_are_not_looked_at(
        self, tmp_path: Path, tool: str, parameter: str
    ) -> None:
        assert len(said(tmp_path, tool=tool, parameter=parameter, agent="arg_validation: none")) == 1

    def test_text_that_may_come_under_a_name_that_parameters_leave_open_is_told(self, tmp_path: Path) -> None:
        files = project(parameter="other: { type: integer }")
        assert messages(check(tmp_path, files), "TV702") == []
        open_ = {
            name: text.replace("additionalProperties: false, required: [], properties: { other", "properties: { other")
            for name, text in files.items()
        }
        assert open_ != files
        assert len(messages(check(tmp_path, open_), "TV702")) == 1

    def test_guardrail_at_the_input_stands_in_between(self, tmp_path: Path) -> None:
        assert said(tmp_path, agent="guardrails: { input: [artifact://g@1] }") == []

    def test_results_of_another_tool_come_past_a_guardrail_at_the_input(self, tmp_path: Path) -> None:
        (message,) = said(tmp_path, agent="guardrails: { input: [artifact://g@1] }", more=READER)
        assert "the results of 'reader' → work → tool" in message
        both = "guardrails: { input: [artifact://g@1], tools: [artifact://g@1] }"
        assert said(tmp_path, agent=both, more=READER) == []

    def test_reply_of_an_api_is_untrusted(self, tmp_path: Path) -> None:
        call = '- { id: load, kind: APICall, http: { url: "https://a.example/" }, response: { output_key: page } }'
        (message,) = said(tmp_path, property="text: { type: integer }", before=call)
        assert "the reply in 'page' of APICall → load → work → tool" in message

    def test_copy_of_untrusted_text_is_untrusted(self, tmp_path: Path) -> None:
        copy = '- { id: copy, kind: Functional, runner: set, values: { note: "Re: {{ text }}", text: "" } }'
        (message,) = said(tmp_path, before=copy)
        assert "'text' of the input → copy → work → tool" in message

    def test_overwritten_text_is_gone(self, tmp_path: Path) -> None:
        assert said(tmp_path, before='- { id: w, kind: Functional, runner: set, values: { text: "x" } }') == []

    def test_person_on_the_way_stands_in_between(self, tmp_path: Path) -> None:
        ask = "- { id: ask, kind: HumanInTheLoop, ui: { title: Look }, human_feedback: [{ name: ok, type: boolean }] }"
        assert said(tmp_path, before=ask) == []

    def test_value_that_a_router_has_compared_is_clean(self, tmp_path: Path) -> None:
        router = "- { id: r, kind: Router, match: { field: text }, routes: { order: work, default: END, error: END } }"
        assert said(tmp_path, before=router) == []

    def test_completion_reaches_nothing(self, tmp_path: Path) -> None:
        assert said(tmp_path, mode="completion") == []

    def test_input_that_nobody_describes_and_nobody_reads_is_not_assumed(self, tmp_path: Path) -> None:
        files = project()
        bare = {
            name: "\n".join(line for line in text.splitlines() if "input:" not in line) for name, text in files.items()
        }
        assert messages(check(tmp_path, bare), "TV702") == []


class TestUntrustedInstruction:
    def steps(self, site: str) -> str:
        return f"""
            - id: ask
              kind: Agent
              mode: completion
              agent: {{ model: own/x, prompt: Hi., {site} }}
              routes: {{ timeout: END, error: END, aborted: END }}
        """

    HEAD = """
    input:
      type: object
      additionalProperties: false
      required: [text, n, lang]
      properties: { text: { type: string }, n: { type: integer }, lang: { enum: [en, de] } }
    """

    @pytest.mark.parametrize(
        "template",
        [
            "{{ text }}",
            "{{ text | upper }}",
            "{% for word in text %}{{ word }}{% endfor %}",
            "{% set t = text %}{{ t }}",
            "{{ text if n > 1 else lang }}",
        ],
    )
    def test_text_of_the_input_in_the_system_prompt_is_an_error(self, tmp_path: Path, template: str) -> None:
        report = check(tmp_path, workflow(self.steps(f'system: "{template}"'), self.HEAD))
        assert [str(finding.severity) for finding in of(report, "TV710")] == ["error"]

    @pytest.mark.parametrize(
        "template",
        ["{{ n }} in {{ lang }}", "{% if text == 'x' %}short{% endif %}", "{{ text | length }}", "{{ text | sha256 }}"],
    )
    def test_closed_values_and_conditions_are_clean(self, tmp_path: Path, template: str) -> None:
        report = check(tmp_path, workflow(self.steps(f'system: "{template}"'), self.HEAD))
        assert messages(report, "TV710") == []

    def test_prompt_of_the_user_may_hold_it(self, tmp_path: Path) -> None:
        steps = self.steps("system: Be kind.").replace("prompt: Hi.", 'prompt: "{{ text }}"')
        assert messages(check(tmp_path, workflow(steps, self.HEAD)), "TV710") == []

    def test_closed_part_of_an_answer_is_clean(self, tmp_path: Path) -> None:
        schema = "schema: { type: object, properties: { score: { type: integer }, why: { type: string } } }"
        first = f"""
            - id: rate
              kind: Agent
              mode: completion
              agent: {{ model: own/x, prompt: Rate it., outcome: {{ format: json, write: r, {schema} }} }}
              routes: {{ timeout: END, parse_error: END, error: END, aborted: END }}
        """
        for part, count in (("score", 0), ("why", 1)):
            steps = first + self.steps(f'system: "{{{{ r.{part} }}}}"')
            assert len(messages(check(tmp_path, workflow(steps, self.HEAD)), "TV710")) == count

    def test_it_is_a_warning_while_nobody_knows_what_the_input_is(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.steps('system: "For {{ customer }}"')))
        assert [str(finding.severity) for finding in of(report, "TV710")] == ["warning"]


class TestInlineSecret:
    SECRET = "sk-proj-9fQ2mZ7xLk4TtB1vWc8RyN3d"

    def report(self, tmp_path: Path, value: str) -> Report:
        head = "kind: AgentModel\nmetadata: { name: m }\nspec:\n  provider: own\n  model: x\n"
        return check(tmp_path, {"llms/m.yaml": f"{head}  api_key: {value}\n"})

    def test_secret_is_never_printed(self, tmp_path: Path) -> None:
        report = self.report(tmp_path, self.SECRET)
        assert len(messages(report, "TV701")) == 1
        assert self.SECRET not in report_text(report)
        assert self.SECRET not in "".join(report.texts.values())
        assert "api_key: ****" in report_text(report)

    @pytest.mark.parametrize("key", ["hunter2", "sunshine9", "a1b2c3"])
    def test_key_of_a_model_is_one_however_short(self, tmp_path: Path, key: str) -> None:
        assert len(messages(self.report(tmp_path, key), "TV701")) == 1

    @pytest.mark.parametrize(("password", "count"), [("blue", 1), ("hunter2", 1), ("(secret)", 0), ("dev", 0)])
    def test_password_in_a_url_is_one_however_short_but_for_what_a_lock_shows_of_it(
        self, tmp_path: Path, password: str, count: int
    ) -> None:
        spec = f"{{ type: postgresql, connection: 'postgresql://u:{password}@h/d' }}"
        source = f"kind: DataSource\nmetadata: {{ name: d }}\nspec: {spec}\n"
        assert len(messages(check(tmp_path, {"datasources/d.yaml": source}), "TV701")) == count

    @pytest.mark.parametrize(
        "value",
        ['"${KEY}"', '"${KEY:none}"', "your-api-key-here", "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "not-needed", "ollama"],
    )
    def test_placeholder_or_variable_is_no_secret(self, tmp_path: Path, value: str) -> None:
        assert messages(self.report(tmp_path, value), "TV701") == []

    def test_secret_in_prose_is_found_at_its_line(self, tmp_path: Path) -> None:
        prose = f"---\nname: p\ntype: prompt\n---\nHello.\nUse the key {self.SECRET} for it.\n"
        report = check(tmp_path, {"artifacts/p.md": prose})
        assert [finding.line for finding in of(report, "TV701")] == [6]
        assert self.SECRET not in report_text(report)


class TestAddresses:
    def call(self, tmp_path: Path, code: str, url: str, hosts: str | None = None) -> list[str]:
        files = workflow(f'- {{ id: c, kind: APICall, http: {{ url: "{url}" }} }}', "input: { properties: { r: {} } }")
        if hosts is not None:
            files["tuvl.yaml"] = f"kind: ProjectConfig\nspec: {{ http: {{ {hosts} }} }}\n"
        return messages(check(tmp_path, files), code)

    @pytest.mark.parametrize(
        "url", ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]/", "https://a.example/"]
    )
    def test_plain_http_to_this_machine_is_silent(self, tmp_path: Path, url: str) -> None:
        assert self.call(tmp_path, "TV704", url) == []

    @pytest.mark.parametrize(
        ("url", "what"),
        [
            ("http://169.254.169.254/latest/meta-data", "metadata service"),
            ("https://metadata.google.internal/", "metadata service"),
            ("https://192.168.0.4/", "private address"),
            ("https://[fd00::1]/", "private address"),
            ("http://localhost:1234/", "this machine"),
        ],
    )
    def test_private_address_is_told_unless_allowed(self, tmp_path: Path, url: str, what: str) -> None:
        (message,) = self.call(tmp_path, "TV712", url)
        assert what in message
        assert self.call(tmp_path, "TV712", url, "deny_private: false") == []

    def test_allowed_host_and_public_address_are_silent(self, tmp_path: Path) -> None:
        assert self.call(tmp_path, "TV712", "https://10.0.0.5:8443/x", 'allow_hosts: ["10.0.0.5:8443"]') == []
        assert self.call(tmp_path, "TV712", "https://1.1.1.1/") == []

    @pytest.mark.parametrize(
        ("url", "hosts", "count"),
        [
            ("https://{{ r }}/x", None, 1),
            ("{{ r }}/x", "allow_hosts: [a.example]", 0),
            ("https://{{ r }}.a.example/x", 'allow_hosts: ["*.a.example"]', 0),
            ("https://{{ r }}.a.example/x", "allow_hosts: [eu.a.example]", 0),
            ("https://{{ r }}.a.example/x", "allow_hosts: [b.example]", 1),
            ("https://a.example/{{ r }}", None, 0),
        ],
    )
    def test_host_from_a_template_needs_an_entry_that_can_cover_it(
        self, tmp_path: Path, url: str, hosts: str | None, count: int
    ) -> None:
        assert len(self.call(tmp_path, "TV703", url, hosts)) == count


@pytest.mark.parametrize(
    ("start", "count"),
    [
        ("command: bash, args: [-c, x]", 1),
        ("command: /bin/sh", 1),
        ("command: ./server", 1),
        ("command: tools/server", 1),
        ("command: /usr/bin/server", 0),
        ("command: uvx, args: [mcp-server-time]", 0),
        ("command: sudo, args: [-u, x, sh, -c, y]", 1),
        ("command: nohup, args: [bash, x.sh]", 1),
        ("command: xargs, args: [sh, -c]", 1),
        ("command: /usr/bin/env, args: [A=1, zsh]", 1),
        ('command: "${SHELL}", args: [-c, x]', 1),
        ('command: "${COMSPEC:cmd}", args: [/c, x]', 1),
        ("command: python3.12, args: [-c, import os]", 1),
        ("command: python, args: [-u, -c, import os]", 1),
        ("command: node, args: [--eval, x]", 1),
        ("command: deno, args: [eval, x]", 1),
        ("command: env, args: [perl, -e, x]", 1),
        ("command: python -c x", 1),
        ("command: python, args: [-m, server, -c, config.toml]", 0),
        ("command: node, args: [server.js, -e, production]", 0),
        ("command: server, args: [sh, -c, -e]", 0),
        ("command: env, args: [A=1, uvx, mcp-server-time]", 0),
        ('command: server, env: { ALL: "${*}" }', 1),
        ('command: server, env: { TZ: "${TZ}" }', 0),
    ],
)
def test_server_started_in_a_doubtful_way(tmp_path: Path, start: str, count: int) -> None:
    artifact = f"kind: Artifact\nmetadata: {{ name: s }}\nspec: {{ type: mcp, transport: stdio, {start} }}\n"
    assert len(messages(check(tmp_path, {"artifacts/s.yaml": artifact}), "TV711")) == count


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("openai/gpt-4o", 1),
        ("openai/gpt-4o-2024-08-06", 0),
        ("anthropic/claude-3-5-sonnet-latest", 1),
        ("anthropic/claude-sonnet-4-20250514", 0),
        ("vertex_ai/gemini-1.5-pro-002", 0),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", 0),
        ("ollama/llama3.1", 0),
        ("ollama/llama3:latest", 1),
    ],
)
def test_model_under_a_name_that_moves(tmp_path: Path, model: str, count: int) -> None:
    step = f"- {{ id: a, kind: Agent, mode: completion, agent: {{ model: '{model}', prompt: Hi. }} }}"
    assert len(messages(check(tmp_path, workflow(step)), "TV802")) == count


@pytest.mark.parametrize(
    ("step", "head", "count"),
    [
        ("method: POST, retry: { attempts: 2 }", "", 1),
        ("method: PUT, retry: { attempts: 2 }", "", 0),
        ("method: POST", "", 0),
        ("method: POST", "durable: true", 1),
        ("method: DELETE", "durable: true", 0),
    ],
)
def test_write_that_may_be_made_twice(tmp_path: Path, step: str, head: str, count: int) -> None:
    steps = f'- {{ id: c, kind: APICall, http: {{ url: "https://a.example/", {step} }} }}'
    assert len(messages(check(tmp_path, workflow(steps, head)), "TV705")) == count


class TestPublicTrigger:
    OPEN = "trigger: { path: /api/w, method: POST, public: true }"
    SET = "kind: Functional, runner: set, values: { x: 1 }"
    ASKS = f"{SET}, auth: {{ required_scope: pay }}"
    CHILD = "kind: Workflow\nmetadata: { name: child%s }\nspec:\n  steps:\n    - { id: in, %s }\n"
    RECORDS = """\
kind: ModelDefinition
metadata: { name: Order }
spec:
  tablename: orders
  fields: [{ name: id, type: string, primary_key: true }]
  access: { read_groups: [desk], write_scope: pay }
"""
    ROUTER = "{ id: r, kind: Router, match: { field: a }, routes: { x: s, default: END } }"

    def found(self, tmp_path: Path, steps: str, head: str = OPEN, **files: str) -> list[tuple[str, str]]:
        written = {name.replace("_", "/") + ".yaml": content for name, content in files.items()}
        report = check(tmp_path, workflow(steps, head) | written)
        return [(str(one.severity), one.path) for one in of(report, "TV708")]

    def test_step_that_every_call_comes_to_is_an_error(self, tmp_path: Path) -> None:
        steps = f"- {{ id: first, {self.SET} }}\n- {{ id: s, {self.ASKS} }}"
        assert self.found(tmp_path, steps) == [("error", "spec.steps[1].auth.required_scope")]

    def test_step_that_some_calls_come_to_is_a_warning(self, tmp_path: Path) -> None:
        steps = f"- {self.ROUTER}\n- {{ id: s, {self.ASKS} }}"
        assert self.found(tmp_path, steps) == [("warning", "spec.steps[1].auth.required_scope")]

    @pytest.mark.parametrize("head", ["", "trigger: { path: /api/w, method: POST }"])
    def test_nothing_is_said_of_a_trigger_that_is_not_public(self, tmp_path: Path, head: str) -> None:
        assert self.found(tmp_path, f"- {{ id: s, {self.ASKS} }}", head) == []

    def test_routed_error_says_what_a_call_without_the_right_comes_to(self, tmp_path: Path) -> None:
        assert self.found(tmp_path, f"- {{ id: s, {self.ASKS}, routes: {{ error: END }} }}") == []

    def test_question_to_a_person_asks_who_answers_and_not_the_caller(self, tmp_path: Path) -> None:
        ask = "kind: HumanInTheLoop, ui: { title: t }, human_feedback: [{ name: a }], auth: { required_group: leads }"
        assert self.found(tmp_path, f"- {{ id: s, {ask} }}") == []

    def test_tool_that_asks_for_a_right_is_a_warning(self, tmp_path: Path) -> None:
        steps = f"""
            - id: work
              kind: Agent
              mode: autonomous
              agent: {{ model: own/x, steering: Work., tools: [{{ ref: s, description: Sets. }}] }}
            - {{ id: s, {self.ASKS} }}
        """
        assert self.found(tmp_path, steps) == [("warning", "spec.steps[1].auth.required_scope")]

    @pytest.mark.parametrize(
        ("operation", "said"), [("list", "access.read_groups"), ("create, payload: { id: a }", "access.write_scope")]
    )
    def test_rights_of_a_data_model_are_asked_by_what_is_done_to_it(
        self, tmp_path: Path, operation: str, said: str
    ) -> None:
        steps = f"- {{ id: s, kind: ModelOp, model: Order, operation: {operation} }}"
        files = workflow(steps, f"{self.OPEN}\ncontext: Order") | {"models/order.yaml": self.RECORDS}
        report = check(tmp_path, files)
        assert [(str(one.severity), one.path) for one in of(report, "TV708")] == [("error", "spec.steps[0].model")]
        assert f"`{said}` of data model 'Order'" in messages(report, "TV708")[0]

    def test_delete_right_that_nobody_asks_for_is_no_finding(self, tmp_path: Path) -> None:
        steps = "- { id: s, kind: ModelOp, model: Order, operation: delete, record_id: a }"
        assert self.found(tmp_path, steps, f"{self.OPEN}\ncontext: Order", models_order=self.RECORDS) == []

    @pytest.mark.parametrize(
        ("head", "inner", "weight"),
        [
            (", required_group: desk", SET, ["error"]),
            ("", ASKS, ["error"]),
            ("", f"{ASKS}, routes: {{ error: END }}", []),
            ("", SET, []),
            ("", "kind: Workflow, workflow: child, input: {}", []),
        ],
        ids=["the workflow", "its step", "a routed step", "nothing", "itself"],
    )
    def test_rights_of_a_called_workflow_are_those_of_the_step(
        self, tmp_path: Path, head: str, inner: str, weight: list[str]
    ) -> None:
        steps = "- { id: s, kind: Workflow, workflow: child, input: {} }"
        found = self.found(tmp_path, steps, workflows_child=self.CHILD % (head, inner))
        assert found == [(each, "spec.steps[0].workflow") for each in weight]
