"""The checks of the route graph, where their reading is not obvious."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow

WORK = "kind: Functional, runner: set, values: { x: 1 }"


def said(tmp_path: Path, code: str, steps: str, head: str = "", **files: str) -> list[str]:
    return messages(check(tmp_path, workflow(steps, head) | files), code)


class TestUnreachable:
    def test_island_of_steps_that_lead_to_each_other_is_not_reached(self, tmp_path: Path) -> None:
        found = said(
            tmp_path,
            "TV301",
            f"""
            - {{ id: a, {WORK}, routes: {{ default: END }} }}
            - {{ id: b, {WORK} }}
            - {{ id: c, {WORK}, routes: {{ default: b }} }}
            """,
        )
        assert len(found) == 2

    def test_tools_and_bodies_are_reached_through_their_owner(self, tmp_path: Path) -> None:
        assert not said(
            tmp_path,
            "TV301",
            f"""
            - {{ id: each, kind: ForEach, items: "{{{{ list }}}}", step: body }}
            - {{ id: body, {WORK} }}
            """,
        )

    def test_workflow_without_a_first_step_is_an_error(self, tmp_path: Path) -> None:
        hook = (
            "kind: Artifact\nmetadata: { name: h }\nspec: { type: hook, on: on_error, action: notify, target: page }\n"
        )
        steps = '- { id: page, kind: APICall, http: { url: "https://a.example/" }, hooks: [artifact://h@1] }'
        report = check(tmp_path, workflow(steps) | {"artifacts/h.yaml": hook})
        assert [(finding.code, str(finding.severity)) for finding in report.findings] == [("TV301", "error")]


class TestReservedUnrouted:
    AGENT = """
        - id: a
          kind: Agent
          mode: {mode}
          agent: {{ model: own/x, {fields} }}
          routes: {{ {routes} }}
          timeout_s: 60
        - {{ id: t, kind: Functional, runner: set, values: {{ x: 1 }}, description: A tool. }}
    """
    TOOLS = "steering: Do it., tools: [{ ref: t, parameters: { type: object } }]"

    def unrouted(
        self, tmp_path: Path, *, fields: str = TOOLS, routes: str = "", mode: str = "autonomous", head: str = ""
    ) -> list[str]:
        steps = self.AGENT.format(mode=mode, fields=fields, routes=routes)
        return [message.split("'")[1] for message in said(tmp_path, "TV302", steps, head)]

    def test_exits_that_cannot_happen_need_no_route(self, tmp_path: Path) -> None:
        assert self.unrouted(tmp_path) == ["aborted", "max_iterations"]

    def test_budget_needs_a_route(self, tmp_path: Path) -> None:
        found = self.unrouted(tmp_path, fields=self.TOOLS + ", token_budget: 100")
        assert found == ["aborted", "budget_exceeded", "max_iterations"]

    def test_limit_of_the_run_is_a_budget_too(self, tmp_path: Path) -> None:
        assert "budget_exceeded" in self.unrouted(tmp_path, head="limits: { max_tokens: 100 }")

    def test_guardrail_needs_a_route(self, tmp_path: Path) -> None:
        fields = self.TOOLS + ", guardrails: { output: [artifact://g@1] }"
        assert "guardrail_violation" in self.unrouted(tmp_path, fields=fields)

    def test_completion_needs_routes_for_the_signals_that_would_fail_the_run(self, tmp_path: Path) -> None:
        assert self.unrouted(tmp_path, mode="completion", fields="prompt: Hello.") == ["timeout"]
        fields = "prompt: Hello., outcome: { format: json }"
        assert self.unrouted(tmp_path, mode="completion", fields=fields) == ["parse_error", "timeout"]
        fields = "prompt: Hello., guardrails: { output: [artifact://g@1] }"
        assert self.unrouted(tmp_path, mode="completion", fields=fields) == ["guardrail_violation", "timeout"]

    def test_aborted_says_that_the_run_ends_and_the_others_that_it_fails(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.AGENT.format(mode="autonomous", fields=self.TOOLS, routes="")))
        texts = {finding.message.split("'")[1]: finding.message for finding in of(report, "TV302")}
        assert "ends the run" in texts["aborted"]
        assert "fails the run with an engine error" in texts["max_iterations"]

    def test_place_is_the_routes_key(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.AGENT.format(mode="autonomous", fields=self.TOOLS, routes="")))
        assert {(finding.line, finding.column, finding.end_column) for finding in of(report, "TV302")} == {(9, 7, 13)}

    def test_all_exits_routed_is_silent(self, tmp_path: Path) -> None:
        routes = ", ".join(
            f"{name}: END" for name in ("max_iterations", "budget_exceeded", "error", "aborted", "guardrail_violation")
        )
        steps = self.AGENT.format(mode="autonomous", fields=self.TOOLS, routes=routes)
        report = check(tmp_path, workflow(steps))
        assert [finding.code for finding in report.findings] == []


class TestRouteNeverTaken:
    @pytest.mark.parametrize(
        "step",
        [
            'kind: APICall, http: { url: "https://a.example/" }, routes: { aborted: END }',
            "kind: Functional, runner: unknown_to_us, routes: { whatever: END }",
            "kind: Router, match: { field: topic }, routes: { billing: END, default: END }",
            "kind: HumanInTheLoop, ui: { title: Ok }, timeout_s: 5, routes: { timeout: END }",
            "kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi. }, routes: { timeout: END, aborted: END }",
            "kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi., outcome: { format: json } }, "
            "routes: { parse_error: END }",
        ],
        ids=["abort", "open node", "match", "human timeout", "completion", "parse error"],
    )
    def test_signal_that_can_come_is_not_reported(self, tmp_path: Path, step: str) -> None:
        assert not said(tmp_path, "TV303", f"- {{ id: a, {step} }}")

    @pytest.mark.parametrize(
        ("step", "signal"),
        [
            ('kind: APICall, http: { url: "https://a.example/" }, routes: { timeout: END }', "timeout"),
            ("kind: Functional, runner: set, values: { a: 1 }, routes: { ok: END }", "ok"),
            ("kind: HumanInTheLoop, ui: { title: Ok }, routes: { timeout: END }", "timeout"),
            (
                "kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi. }, routes: { max_iterations: END }",
                "max_iterations",
            ),
            (
                "kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi. }, routes: { parse_error: END }",
                "parse_error",
            ),
            (
                "kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi., outcome: { enum: [x] } }, "
                "routes: { x: END, default: END }",
                "default",
            ),
            (
                "kind: Router, condition: { field: a, operator: is_empty }, routes: "
                '{ "true": END, "false": END, default: END }',
                "default",
            ),
        ],
        ids=["api timeout", "set", "human", "completion", "text answer", "outcomes", "condition"],
    )
    def test_signal_that_cannot_come_is_reported(self, tmp_path: Path, step: str, signal: str) -> None:
        assert said(tmp_path, "TV303", f"- {{ id: a, {step} }}") == [f"step 'a' never returns {signal!r}"]

    def test_node_that_declares_its_signals_returns_no_others(self, tmp_path: Path) -> None:
        nodes = 'from tuvl import node\n@node("price", signals=["default", "empty"])\ndef price(ctx): ...\n'
        steps = "- { id: a, kind: Functional, runner: price, routes: { empty: END, emtpy: END } }"
        assert said(tmp_path, "TV303", steps, **{"nodes/price.py": nodes}) == ["step 'a' never returns 'emtpy'"]

    def test_reserved_exits_of_an_agent_may_be_mapped_ahead_of_their_need(self, tmp_path: Path) -> None:
        steps = """
            - id: a
              kind: Agent
              mode: autonomous
              agent: { model: a/b, tools: [{ ref: t }] }
              routes: { budget_exceeded: END, guardrail_violation: END }
            - { id: t, kind: Functional, runner: set, values: { x: 1 } }
        """
        assert not said(tmp_path, "TV303", steps)


class TestCycles:
    POLL = """
        - {{ id: fetch, kind: APICall, http: {{ url: "https://a.example/" }}, routes: {{ {fetch} }} }}
        - {{ id: pause, kind: Functional, runner: wait, seconds: 1, routes: {{ default: fetch }} }}
        - {{ id: stop, kind: Functional, runner: fail, message: No. }}
    """

    def test_failure_alone_is_no_bound(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.POLL.format(fetch="default: pause, error: stop")))
        assert ["fetch → pause → fetch" in message for message in messages(report, "TV305")] == [True]
        assert messages(report, "TV304") == []

    def test_without_any_exit_it_is_an_error_and_said_once(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.POLL.format(fetch="default: pause")))
        assert len(messages(report, "TV304")) == 1
        assert messages(report, "TV305") == []

    def test_decision_is_a_bound(self, tmp_path: Path) -> None:
        steps = """
            - { id: fetch, kind: APICall, http: { url: "https://a.example/" } }
            - id: done
              kind: Router
              condition: { field: a, operator: is_empty }
              routes: { "true": fetch, "false": END }
        """
        report = check(tmp_path, workflow(steps))
        assert [finding.code for finding in report.findings] == []

    def test_agent_that_may_choose_to_leave_is_a_bound(self, tmp_path: Path) -> None:
        steps = """
            - id: a
              kind: Agent
              mode: completion
              agent: { model: a/b, prompt: Go on?, outcome: { enum: [again, done] } }
              routes: { again: note, done: END }
            - { id: note, kind: Functional, runner: set, values: { x: 1 }, routes: { default: a } }
        """
        report = check(tmp_path, workflow(steps))
        assert messages(report, "TV304") == messages(report, "TV305") == []


class TestDeadEnds:
    def test_default_error_and_aborted_need_no_route(self, tmp_path: Path) -> None:
        steps = (
            '- { id: a, kind: Router, when: [{ if: "{{ x }}", signal: default }, { if: "{{ y }}", signal: error }] }'
        )
        assert not said(tmp_path, "TV306", steps)

    def test_every_signal_of_when_needs_a_route(self, tmp_path: Path) -> None:
        steps = '- { id: a, kind: Router, when: [{ if: "{{ x }}", signal: big }], routes: { default: END } }'
        (finding,) = of(check(tmp_path, workflow(steps)), "TV306")
        assert finding.path == "spec.steps[0].when[0].signal"

    def test_every_declared_signal_of_a_node_needs_a_route(self, tmp_path: Path) -> None:
        nodes = 'from tuvl import node\n@node("price", signals=["default", "empty"])\ndef price(ctx): ...\n'
        found = said(tmp_path, "TV306", "- { id: a, kind: Functional, runner: price }", **{"nodes/price.py": nodes})
        assert ["'empty'" in message for message in found] == [True]

    def test_question_with_a_deadline_needs_a_route_for_it(self, tmp_path: Path) -> None:
        assert said(tmp_path, "TV306", "- { id: a, kind: HumanInTheLoop, ui: { title: Ok }, timeout_s: 5 }")

    def test_answers_as_signals_need_routes_or_a_default(self, tmp_path: Path) -> None:
        step = (
            "- {{ id: a, kind: HumanInTheLoop, ui: {{ title: Ok }}, signal_from: v, "
            "human_feedback: [{{ name: v, type: choice, choices: [yes, no] }}], routes: {{ yes: END{more} }} }}"
        )
        assert len(said(tmp_path / "a", "TV306", step.format(more=""))) == 1
        assert said(tmp_path / "b", "TV306", step.format(more=", default: END")) == []

    def test_step_off_the_spine_needs_no_routes(self, tmp_path: Path) -> None:
        steps = """
            - { id: each, kind: ForEach, items: "{{ list }}", step: body }
            - { id: body, kind: Router, condition: { field: a, operator: is_empty } }
        """
        assert not said(tmp_path, "TV306", steps)


class TestRouterGap:
    def test_last_case_that_is_always_true_leaves_no_gap(self, tmp_path: Path) -> None:
        steps = """
            - id: a
              kind: Router
              when: [{ if: "{{ x }}", signal: big }, { if: "{{ true }}", signal: small }]
              routes: { big: END, small: END }
        """
        assert not said(tmp_path, "TV309", steps)

    def test_condition_has_no_gap(self, tmp_path: Path) -> None:
        step = 'kind: Router, condition: { field: a, operator: is_empty }, routes: { "true": END, "false": END }'
        assert not said(tmp_path, "TV309", f"- {{ id: a, {step} }}")


class TestFallsIntoBranch:
    CONDITION = "condition: { field: a, operator: is_empty }"
    SPLIT = f'- {{ id: large, kind: Router, {CONDITION}, routes: {{ "true": ask, "false": pay }} }}'

    def test_later_step_of_the_branch_is_the_one_to_mend(self, tmp_path: Path) -> None:
        steps = f"{self.SPLIT}\n- {{ id: ask, {WORK} }}\n- {{ id: tell, {WORK} }}\n- {{ id: pay, {WORK} }}"
        found = said(tmp_path, "TV310", steps)
        assert found == [
            "step 'tell', in the branch of 'ask', falls through into 'pay', where 'large' leads on 'false'"
        ]

    @pytest.mark.parametrize("routes", ["default: END", "default: pay"])
    def test_branch_that_says_where_it_goes_is_meant(self, tmp_path: Path, routes: str) -> None:
        steps = f"{self.SPLIT}\n- {{ id: ask, {WORK}, routes: {{ {routes} }} }}\n- {{ id: pay, {WORK} }}"
        assert not said(tmp_path, "TV310", steps)

    def test_step_where_branches_meet_belongs_to_none(self, tmp_path: Path) -> None:
        steps = f"""
            {self.SPLIT}
            - {{ id: ask, {WORK}, routes: {{ default: join }} }}
            - {{ id: pay, {WORK} }}
            - {{ id: join, {WORK} }}
        """
        assert not said(tmp_path, "TV310", steps)

    def test_head_of_a_loop_is_no_branch(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: start, {WORK} }}
            - {{ id: draft, {WORK} }}
            - {{ id: good, kind: Router, {self.CONDITION}, routes: {{ "true": END, "false": draft }} }}
        """
        assert not said(tmp_path, "TV310", steps)

    def test_linear_workflow_with_a_shared_fallback_is_silent(self, tmp_path: Path) -> None:
        steps = f"""
            - {{ id: a, {WORK}, routes: {{ error: failed }} }}
            - {{ id: b, {WORK}, routes: {{ error: failed }} }}
            - {{ id: c, {WORK}, routes: {{ default: END, error: failed }} }}
            - {{ id: failed, {WORK} }}
        """
        report = check(tmp_path, workflow(steps))
        assert [finding.code for finding in report.findings if finding.severity != "note"] == []


class TestFallbackLoops:
    AGENT = """
        - id: a
          kind: Agent
          mode: completion
          agent: {{ model: a/b, prompt: Go., outcome: {{ enum: [done, more] }} }}
          routes: {{ done: END, more: END, timeout: {timeout} }}
        - {{ id: note, kind: Functional, runner: set, values: {{ x: 1 }}, routes: {{ default: a }} }}
        - id: pick
          kind: Router
          condition: {{ field: n, operator: gt, value: 3 }}
          routes: {{ "true": END, "false": a }}
    """

    def test_fallback_that_only_goes_back_is_reported(self, tmp_path: Path) -> None:
        assert len(said(tmp_path, "TV311", self.AGENT.format(timeout="note"))) == 1

    def test_failure_routed_to_the_agent_itself_is_reported(self, tmp_path: Path) -> None:
        assert len(said(tmp_path, "TV311", self.AGENT.format(timeout="a"))) == 1

    def test_fallback_that_decides_is_not_reported(self, tmp_path: Path) -> None:
        assert not said(tmp_path, "TV311", self.AGENT.format(timeout="pick"))

    def test_error_routed_to_itself_is_said_once(self, tmp_path: Path) -> None:
        report = check(tmp_path, workflow(self.AGENT.format(timeout="END, error: a")))
        assert len(messages(report, "TV307")) == 1
        assert messages(report, "TV311") == []


def test_thousands_of_steps_are_checked_without_recursion(tmp_path: Path) -> None:
    """Fault N02: a chain of 5000 steps."""
    steps = "\n".join(f"- {{ id: s{number}, kind: Functional, runner: log, message: Hi. }}" for number in range(5000))
    report = check(tmp_path, workflow(steps))
    assert [finding.code for finding in report.findings] == []


def test_dangling_names_are_all_reported_at_once(tmp_path: Path) -> None:
    """Fault N01: a route and a tool to nowhere, and a step that nothing leads to."""
    steps = """
        - id: a
          kind: Agent
          mode: autonomous
          timeout_s: 60
          agent: { model: a/b, steering: Do it., tools: [{ ref: nowhere }] }
          routes: { default: nope, max_iterations: END, aborted: END }
        - { id: lonely, kind: Functional, runner: log, message: Hi. }
    """
    report = check(tmp_path, workflow(steps))
    assert {finding.code: str(finding.severity) for finding in report.findings} == {
        "TV201": "error",
        "TV202": "error",
        "TV301": "warning",
    }
