"""Kinds of mistakes that checks passed over, and sound files they spoke of: each in several spellings."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.check.finding import Report

EXITS = "max_iterations: END, budget_exceeded: END, error: END, aborted: END"
INPUT = """
input:
  type: object
  additionalProperties: false
  required: [text, kind]
  properties:
    text: { type: string }
    kind: { type: string, enum: [a, b] }
    rows: { type: array, items: { type: string } }
"""
CLOSED = "input: { type: object, additionalProperties: false, required: [n], properties: { n: { type: integer } } }"
PROJECT = {"tuvl.yaml": "kind: ProjectConfig\nspec: { http: { allow_hosts: [shop.example] } }\n"}
SUB = """
    kind: Workflow
    metadata: { name: sub }
    spec:
      steps:
        - id: call
          kind: APICall
          http: { url: "https://shop.example/x", method: METHOD }
          response: { output_key: body }
          routes: { error: END }
      output: OUTPUT
"""


def sub(method: str = "GET", output: str = "body") -> dict[str, str]:
    return {"workflows/sub.yaml": SUB.replace("METHOD", method).replace("OUTPUT", output)}


def agent(*tools: str, injected: str = "text") -> str:
    listed = ", ".join(f"{{ ref: {name}, description: Do {name}. }}" for name in tools)
    return f"""
        - id: a
          kind: Agent
          mode: autonomous
          agent: {{ steering: Do it., context_injection: [{injected}], tools: [{listed}], token_budget: 9000 }}
          routes: {{ default: END, {EXITS} }}
    """


def checked(tmp_path: Path, steps: str, *, head: str = INPUT, files: dict[str, str] | None = None) -> Report:
    return check(tmp_path, workflow(steps, head) | PROJECT | (files or {}))


class TestWorkflowsBehindTools:
    RUN = "\n        - { id: run, kind: Workflow, workflow: sub, input: { x: '{{ args.q }}' } }\n"

    @pytest.mark.parametrize(("method", "speaks"), [("GET", False), ("HEAD", False), ("POST", True), ("DELETE", True)])
    def test_tool_acts_as_the_steps_of_its_workflow_do(self, tmp_path: Path, method: str, speaks: bool) -> None:
        found = messages(checked(tmp_path, agent("run") + self.RUN, files=sub(method)), "TV702")
        assert bool(found) is speaks

    def test_tool_acts_that_runs_a_workflow_in_a_workflow(self, tmp_path: Path) -> None:
        middle = """
            kind: Workflow
            metadata: { name: middle }
            spec: { steps: [{ id: down, kind: Workflow, workflow: sub }] }
        """
        files = sub("POST") | {"workflows/middle.yaml": middle}
        steps = agent("run") + self.RUN.replace("sub", "middle")
        assert messages(checked(tmp_path, steps, files=files), "TV702")

    def test_workflow_that_is_not_there_may_do_anything(self, tmp_path: Path) -> None:
        assert messages(checked(tmp_path, agent("run") + self.RUN), "TV702")

    @pytest.mark.parametrize("declared", ["read", "write"])
    def test_what_the_step_declares_makes_it_stricter_alone(self, tmp_path: Path, declared: str) -> None:
        steps = agent("run") + self.RUN.replace("workflow: sub", f"workflow: sub, effects: {declared}")
        assert messages(checked(tmp_path, steps, files=sub("GET" if declared == "write" else "POST")), "TV702")

    @pytest.mark.parametrize(
        "runner", ["runner: set, values: { x: '{{ args.q }}' }", "runner: log, message: '{{ q }}'"]
    )
    def test_built_in_nodes_do_nothing_outside(self, tmp_path: Path, runner: str) -> None:
        steps = agent("note") + f"\n        - {{ id: note, kind: Functional, {runner} }}\n"
        assert messages(checked(tmp_path, steps), "TV702") == []

    def test_results_of_a_workflow_that_calls_outside_are_a_strangers_text(self, tmp_path: Path) -> None:
        found = messages(checked(tmp_path, agent("run") + self.RUN, files=sub()), "TV707")
        assert found == ["agent 'a' reads the results of 'run' without a guardrail"]


class TestTextOutOfWorkflows:
    def show(self, run: str) -> str:
        return f"""
            - {{ {run}, output_key: got, routes: {{ error: END }} }}
            - id: c
              kind: Agent
              mode: completion
              agent: {{ system: "Follow {{{{ got }}}}", prompt: Hi. }}
              routes: {{ error: END, aborted: END, timeout: END }}
            - {{ id: body, kind: Workflow, workflow: sub }}
        """

    @pytest.mark.parametrize(
        "run",
        ["id: s, kind: Workflow, workflow: sub", "id: s, kind: ForEach, items: [1, 2], step: body"],
        ids=["step", "list"],
    )
    def test_reply_that_a_workflow_gives_back_is_untrusted(self, tmp_path: Path, run: str) -> None:
        (found,) = messages(checked(tmp_path, self.show(run), head=CLOSED, files=sub()), "TV710")
        assert "shows 'got'" in found

    def test_workflow_that_gives_nothing_of_it_back_is_clean(self, tmp_path: Path) -> None:
        steps = self.show("id: s, kind: Workflow, workflow: sub")
        assert messages(checked(tmp_path, steps, head=CLOSED, files=sub(output="_api_status_code")), "TV710") == []

    def test_workflows_that_call_each_other_are_looked_at_once(self, tmp_path: Path) -> None:
        loop = sub()["workflows/sub.yaml"].replace(
            "      output: body", "        - { id: again, kind: Workflow, workflow: sub }"
        )
        report = checked(
            tmp_path, self.show("id: s, kind: Workflow, workflow: sub"), files={"workflows/sub.yaml": loop}
        )
        assert messages(report, "TV213")


class TestWordsOfAModelInTheContext:
    NODE = "from tuvl import node\n\n\n@node('keep', writes=['text'], effects='read')\ndef keep(ctx):\n    return {}\n"

    def steps(self, tool: str, schema: str) -> str:
        entry = f"{{ ref: note, description: Note., writes_context: true, parameters: {schema} }}"
        return f"""
            - id: first
              kind: Agent
              mode: autonomous
              agent: {{ steering: Note it., tools: [{entry}], token_budget: 9000 }}
              routes: {{ default: c, {EXITS} }}
            - id: c
              kind: Agent
              mode: completion
              agent: {{ system: "Follow {{{{ text | default('') }}}}", prompt: Hi. }}
              routes: {{ error: END, aborted: END, timeout: END }}
            - {{ id: note, {tool} }}
        """

    @pytest.mark.parametrize(
        "tool",
        [
            "kind: Functional, runner: set, values: { text: '{{ args.q }}' }",
            "kind: Functional, runner: set, values: { text: 'It said {{ q }}' }",
            "kind: Functional, runner: keep, effects: read",
        ],
        ids=["set", "plain", "node"],
    )
    @pytest.mark.parametrize(("type", "speaks"), [("string", True), ("integer", False)])
    def test_argument_that_a_tool_keeps_is_as_untrusted_as_its_type(
        self, tmp_path: Path, tool: str, type: str, speaks: bool
    ) -> None:
        schema = f"{{ type: object, properties: {{ q: {{ type: {type} }} }} }}"
        report = checked(tmp_path, self.steps(tool, schema), head=CLOSED, files={"nodes/keep.py": self.NODE})
        assert bool(messages(report, "TV710")) is speaks


class TestRoutesOfAMatch:
    def router(self, routes: str, before: str = "") -> str:
        return f"""
            {before}
            - {{ id: which, kind: Router, match: {{ field: kind }}, routes: {{ {routes}, default: END }} }}
        """

    def test_value_that_the_input_cannot_have_is_told(self, tmp_path: Path) -> None:
        (found,) = of(checked(tmp_path, self.router("a: END, c: END")), "TV303")
        assert found.message == "step 'which' never returns 'c'"
        assert found.hint == "it can return a, b, default, error"

    @pytest.mark.parametrize(
        ("steps", "head"),
        [
            ("- { id: s, kind: Functional, runner: set, values: { kind: c } }", INPUT),
            ("", INPUT.replace("enum: [a, b]", "maxLength: 9")),
            ("", INPUT.replace("kind: { type: string, enum: [a, b] }", "kind: {}")),
        ],
        ids=["overwritten", "free", "unsaid"],
    )
    def test_value_that_may_be_anything_is_not(self, tmp_path: Path, steps: str, head: str) -> None:
        assert messages(checked(tmp_path, self.router("a: END, c: END", steps), head=head), "TV303") == []


class TestLateDeadlines:
    @pytest.mark.parametrize(
        ("step", "said"),
        [
            ("timeout_s: 90, http: { url: 'https://shop.example/x' }", "`timeout_s: 90` of step 's' is never reached"),
            ("http: { url: 'https://shop.example/x', timeout: 61 }", "`http.timeout: 61` of step 's' is never reached"),
            ("timeout_s: 5, http: { url: 'https://shop.example/x', timeout: 9 }", "`timeout_s: 5` ends it before"),
        ],
        ids=["step", "call", "call in step"],
    )
    def test_deadline_behind_another_is_told(self, tmp_path: Path, step: str, said: str) -> None:
        steps = f"- {{ id: s, kind: APICall, {step}, routes: {{ error: END }} }}"
        (found,) = messages(checked(tmp_path, steps, head="limits: { timeout_s: 60 }"), "TV602")
        assert said in found

    def test_deadline_before_the_others_is_not(self, tmp_path: Path) -> None:
        call = "timeout_s: 60, http: { url: 'https://shop.example/x', timeout: 60 }"
        steps = f"- {{ id: s, kind: APICall, {call}, routes: {{ error: END }} }}"
        assert messages(checked(tmp_path, steps, head="limits: { timeout_s: 60 }"), "TV602") == []

    def test_bound_that_a_strict_check_wants_is_not_said_to_be_left_out(self, tmp_path: Path) -> None:
        preset = """
            kind: AgentModel
            metadata: { name: own }
            spec:
              provider: openai_compatible
              api_base: https://models.example/v1
              model: m-2025-01-01
              max_tokens: 100
              price: { input_per_mtok: 1, output_per_mtok: 1 }
        """
        fields = "max_iterations: 2, max_calls_per_turn: 1, max_wall_clock_s: 60, cost_budget_usd: 50"
        steps = agent("t").replace("steering", f"model: own, {fields}, steering") + (
            "\n        - { id: t, kind: Functional, runner: set, effects: read, values: { x: 1 } }\n"
        )
        files = workflow(steps, f"{INPUT}limits: {{ max_context_bytes: 1000 }}") | {"llms/own.yaml": preset}
        for strict, hint in ((False, "lower it, or leave it out"), (True, "lower it")):
            found = [each for each in of(check(tmp_path, files, strict=strict), "TV602") if "cost" in each.message]
            assert [each.hint for each in found] == [hint]


SPELLINGS = [
    *("2130706433", "0x7f.1", "0177.0.0.1", "10.1", "0xA9FEA9FE", "127.1", "127.0.1", "0X7F000001", "017700000001"),
    *("012.0.0.1", "0000000000000177.1", "0x00000000007f.1", "192.168.1", "172.0x10.1", "%31%32%37.0.0.1", "0x7f.0x.1"),
    *("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1", "\u2460\u2461\u2466.0.0.1"),
]
"""Ways to write an address of this machine, of a network of one's own, or of a metadata service."""


class TestOtherSpellings:
    @pytest.mark.parametrize("host", SPELLINGS)
    def test_address_in_another_spelling_is_as_private(self, tmp_path: Path, host: str) -> None:
        steps = f"- {{ id: s, kind: APICall, http: {{ url: 'https://{host}/x' }}, routes: {{ error: END }} }}"
        assert len(messages(checked(tmp_path, steps), "TV712")) == 1

    @pytest.mark.parametrize("host", ["134744072", "8.8", "1e100.example", "0x8.08.8.8.8", "99999999999"])
    def test_other_numbers_are_not(self, tmp_path: Path, host: str) -> None:
        steps = f"- {{ id: s, kind: APICall, http: {{ url: 'https://{host}/x' }}, routes: {{ error: END }} }}"
        assert messages(checked(tmp_path, steps), "TV712") == []

    @pytest.mark.parametrize(
        ("query", "speaks"),
        [
            ("?api_key=9aKd83mQpL2vXz71bNcR5tYu", True),
            ("?page=1&access_token=9aKd83mQpL2vXz71bNcR5tYu#top", True),
            ("?api_key={{ text }}", False),
            ("?api_key=${KEY}", False),
            ("?token=next-page", False),
            ("?q=9aKd83mQpL2vXz71bNcR5tYu", False),
        ],
    )
    def test_key_in_a_url_is_a_secret(self, tmp_path: Path, query: str, speaks: bool) -> None:
        url = f"https://shop.example/x{query}"
        steps = f"- {{ id: s, kind: APICall, http: {{ url: '{url}' }}, routes: {{ error: END }} }}"
        found = messages(checked(tmp_path, steps), "TV701")
        assert bool(found) is speaks
        assert not any("9aKd" in each for each in found)

    def test_possessive_makes_no_other_tool(self, tmp_path: Path) -> None:
        steps = (
            agent("a1", "a2")
            .replace("Do a1.", "Read the customer order.")
            .replace("Do a2.", "Read the customer's order.")
        )
        more = "".join(f"\n        - {{ id: a{n}, kind: Functional, runner: set, values: {{ x: 1 }} }}" for n in (1, 2))
        assert messages(checked(tmp_path, steps + more + "\n"), "TV413") == [
            "tools 'a1' and 'a2' have nearly the same description"
        ]


class TestListsAndWorkflows:
    def test_key_that_is_not_there_is_missed_in_the_body_of_a_list(self, tmp_path: Path) -> None:
        steps = """
            - { id: f, kind: ForEach, items: "{{ rows }}", as: row, step: body, routes: { error: END } }
            - { id: body, kind: Functional, runner: set, values: { x: "{{ rwo }} {{ row }} {{ text }}" } }
        """
        (found,) = of(checked(tmp_path, steps, head=INPUT.replace("[text, kind]", "[text, kind, rows]")), "TV501")
        assert found.message.startswith("step 'body' reads 'rwo' in `values.x`, which nothing on the way there writes")
        assert found.severity == "warning"
        assert found.hint == "did you mean 'row'?"

    def test_input_of_a_workflow_may_not_have_a_reserved_key(self, tmp_path: Path) -> None:
        steps = "- { id: s, kind: Workflow, workflow: sub, input: { _x: 1, y: 2 }, routes: { error: END } }"
        (found,) = messages(checked(tmp_path, steps, files=sub()), "TV504")
        assert found == "step 's' would set '_x': keys with a leading `_` belong to the engine"

    def test_variable_of_a_credential_in_a_workflow_is_noted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("TUVL_TEST_SHOP", raising=False)
        call = "http: { url: 'https://shop.example/x', auth: { bearer: '${TUVL_TEST_SHOP}' } }"
        steps = f"- {{ id: s, kind: APICall, {call}, routes: {{ error: END }} }}"
        (found,) = of(checked(tmp_path, steps), "TV214")
        assert found.path.endswith("http.auth.bearer")
