"""The checks of bounds, where their reading is not obvious."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow
from tuvl.analysis.envelope import envelope
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Report
from tuvl.cli.validate import main
from tuvl.project.index import ProjectIndex
from tuvl.shipping.gates import check_gate

EXITS = "max_iterations: END, budget_exceeded: END, error: END, aborted: END"
PRESET = """\
kind: AgentModel
metadata: {{ name: own }}
spec: {{ provider: openai_compatible, api_base: "https://models.example/v1", model: m-2025-01-01, {fields} }}
"""
PRICE = "price: { input_per_mtok: 2, output_per_mtok: 8 }"


def agent(
    tmp_path: Path,
    fields: str = "",
    *,
    head: str = "",
    preset: str = PRICE,
    step: str = "",
    files: object = None,
    strict: bool = False,
) -> Report:
    """Check an autonomous agent with one tool, and its preset."""
    steps = f"""
        - id: a
          kind: Agent
          mode: autonomous
          {step}
          agent: {{ model: own, steering: Do it., tools: [{{ ref: find, parameters: {{ type: object }} }}], {fields} }}
          routes: {{ {EXITS} }}
        - {{ id: find, kind: Functional, runner: set, effects: read, description: Find it., values: {{ x: 1 }} }}
    """
    more = files if isinstance(files, dict) else {}
    own = {"llms/own.yaml": PRESET.format(fields=preset)}
    return check(tmp_path, workflow(steps, head) | own | more, strict=strict)


class TestUnboundedAgent:
    @pytest.mark.parametrize("bound", ["token_budget: 9000", "cost_budget_usd: 1", "max_wall_clock_s: 60"])
    def test_any_bound_of_its_own_will_do(self, tmp_path: Path, bound: str) -> None:
        assert messages(agent(tmp_path, bound), "TV601") == []

    @pytest.mark.parametrize("limit", ["max_tokens: 9000", "max_cost_usd: 1", "timeout_s: 60"])
    def test_any_bound_of_the_run_will_do(self, tmp_path: Path, limit: str) -> None:
        assert messages(agent(tmp_path, head=f"limits: {{ {limit} }}"), "TV601") == []

    def test_policy_of_the_project_will_do(self, tmp_path: Path) -> None:
        files = {"tuvl.yaml": "kind: ProjectConfig\nspec: { policy: { max_tokens_per_run: 9000 } }\n"}
        assert messages(agent(tmp_path, files=files), "TV601") == []

    def test_what_it_may_use_is_said_where_it_is_known(self, tmp_path: Path) -> None:
        known = messages(agent(tmp_path, "max_output_tokens: 100, max_calls_per_turn: 1"), "TV601")
        assert known[0].startswith("only its 8 iterations bound step 'a', which may use about 5")
        assert messages(agent(tmp_path), "TV601") == [
            "only its 8 iterations bound step 'a', and nothing says how many tokens they may use"
        ]


ALL_THREE = "token_budget: 9000, cost_budget_usd: 1, max_wall_clock_s: 60"


class TestUnboundedAgentOfAStrictProject:
    @pytest.mark.parametrize(
        ("fields", "head", "lacks"),
        [
            ("token_budget: 9000, cost_budget_usd: 1", "", "time"),
            ("token_budget: 9000, max_wall_clock_s: 60", "", "dollars"),
            ("cost_budget_usd: 1", "limits: { timeout_s: 60 }", "tokens"),
            ("", "limits: { max_cost_usd: 1 }", "tokens or time"),
        ],
    )
    def test_each_bound_that_lacks_is_named(self, tmp_path: Path, fields: str, head: str, lacks: str) -> None:
        found = messages(agent(tmp_path, fields, head=head, strict=True), "TV601")
        assert found == [f"nothing bounds the {lacks} of step 'a'"]
        assert messages(agent(tmp_path, fields, head=head), "TV601") == []

    @pytest.mark.parametrize(
        ("fields", "head"),
        [
            (ALL_THREE, ""),
            ("", "limits: { max_tokens: 9000, max_cost_usd: 1, timeout_s: 60 }"),
            ("token_budget: 9000", "limits: { max_cost_usd: 1, timeout_s: 60 }"),
        ],
    )
    def test_all_three_will_do_wherever_they_stand(self, tmp_path: Path, fields: str, head: str) -> None:
        assert messages(agent(tmp_path, fields, head=head, strict=True), "TV601") == []

    def test_policy_and_deadline_of_the_step_count(self, tmp_path: Path) -> None:
        policy = "policy: { max_tokens_per_run: 9000, max_cost_usd_per_run: 1 }"
        files = {"tuvl.yaml": f"kind: ProjectConfig\nspec: {{ {policy} }}\n"}
        assert messages(agent(tmp_path, step="timeout_s: 60", files=files, strict=True), "TV601") == []

    def test_none_at_all_is_told_with_the_figure_and_all_that_is_asked_for(self, tmp_path: Path) -> None:
        (found,) = of(agent(tmp_path, "max_output_tokens: 100, max_calls_per_turn: 1", strict=True), "TV601")
        assert found.message.startswith("only its 8 iterations bound step 'a', which may use about 5")
        assert found.hint == (
            "give it `token_budget`, `cost_budget_usd` and `max_wall_clock_s`; a strict check asks for tokens, dollars "
            "and time, and the workflow's `limits:` count, too"
        )

    @pytest.mark.parametrize(
        ("preset", "why"),
        [
            ("temperature: 0", "the price of model 'own' is not known, so dollars cannot be bounded"),
            (
                "price: { input_per_mtok: 0, output_per_mtok: 0 }",
                "its models cost nothing, so dollars need no bound",
            ),
        ],
        ids=["unpriced", "free"],
    )
    def test_dollars_are_not_asked_for_where_they_cannot_be_bounded(
        self, tmp_path: Path, preset: str, why: str
    ) -> None:
        (found,) = of(agent(tmp_path, "token_budget: 9000", preset=preset, strict=True), "TV601")
        assert found.message == "nothing bounds the time of step 'a'"
        assert found.hint is not None
        assert found.hint.endswith(why)
        bounded = agent(tmp_path, "token_budget: 9000, max_wall_clock_s: 60", preset=preset, strict=True)
        assert messages(bounded, "TV601") == []

    def test_model_behind_a_tool_without_a_price_leaves_dollars_out(self, tmp_path: Path) -> None:
        inner = """
            kind: Workflow
            metadata: { name: inner }
            spec:
              steps:
                - id: ask
                  kind: Agent
                  mode: completion
                  agent: { model: free, prompt: Say hello. }
                  routes: { error: END, aborted: END, timeout: END }
        """
        free = "kind: AgentModel\nmetadata: { name: free }\nspec: { provider: scripted, replies: [hello] }\n"
        steps = """
            - id: a
              kind: Agent
              mode: autonomous
              agent:
                { model: own, steering: Do it., tools: [{ ref: more }], token_budget: 9000, max_wall_clock_s: 60 }
            - { id: more, kind: Workflow, workflow: inner, description: Say hello. }
        """
        files = {"llms/own.yaml": PRESET.format(fields=PRICE), "llms/free.yaml": free, "workflows/inner.yaml": inner}
        assert messages(check(tmp_path, workflow(steps) | files, strict=True), "TV601") == []

    def test_command_line_and_release_ask_strictly(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        agent(tmp_path, "token_budget: 9000", head="input: { type: object }")
        assert main([str(tmp_path), "--select", "TV601", "--strict", "--no-cache"]) == 1
        assert "nothing bounds the dollars or time of step 'a'" in capsys.readouterr().out
        assert main([str(tmp_path), "--select", "TV601", "--no-cache"]) == 0
        assert capsys.readouterr().out == ""
        for strict in (True, False):
            report = check_gate(tmp_path, strict=strict).report
            assert report is not None
            assert bool(messages(report, "TV601")) is strict


class TestInertBound:
    @pytest.mark.parametrize(
        ("fields", "head", "said"),
        [
            ("token_budget: 50, max_output_tokens: 100", "", "`token_budget: 50` of step 'a' lets it make one call"),
            ("token_budget: 9001", "limits: { max_tokens: 9000 }", "`limits.max_tokens: 9000` ends the run before"),
            ("cost_budget_usd: 2", "limits: { max_cost_usd: 1 }", "`limits.max_cost_usd: 1` ends the run before"),
            ("cost_budget_usd: 0.0001", "", "instructions and tools of one request cost about $0.000"),
            ("max_wall_clock_s: 61", "limits: { timeout_s: 60 }", "`limits.timeout_s: 60` ends it before"),
            ("conclude: { deadline_s: 60 }, max_wall_clock_s: 60", "", "`deadline_s: 60` of step 'a' is never reached"),
            ("max_tool_calls: 25, max_calls_per_turn: 3", "", "8 iterations of 3 calls make 24"),
            ("answer_retries: 8", "", "`max_iterations: 8` ends it before"),
            (
                "compaction: { max_tokens: 8000, target_percent: 90 }",
                "",
                "compaction begins at 80 percent and stops at 90",
            ),
            (
                "max_output_tokens: 10, max_calls_per_turn: 1, max_iterations: 1, cost_budget_usd: 50",
                "limits: { max_context_bytes: 1000 }",
                "all its turns together cost $0.0",
            ),
        ],
    )
    def test_bound_without_effect_is_told_with_the_numbers(
        self, tmp_path: Path, fields: str, head: str, said: str
    ) -> None:
        found = messages(agent(tmp_path, fields, head=head), "TV602")
        assert len(found) == 1
        assert said in found[0]

    def test_limit_of_the_run_above_all_steps_is_told(self, tmp_path: Path) -> None:
        fields = "max_output_tokens: 10, max_calls_per_turn: 1, max_iterations: 2"
        head = "limits: { max_context_bytes: 1000, max_tokens: 10000000 }"
        found = messages(agent(tmp_path, fields, head=head), "TV602")
        assert [text.split(":")[0] for text in found] == ["`limits.max_tokens"]

    def test_figure_of_an_inert_limit_is_the_one_that_bounds_shows(self, tmp_path: Path) -> None:
        """Attempts that fail count in both."""
        fields = "max_output_tokens: 10, max_calls_per_turn: 1, max_iterations: 2, retry: { attempts: 3 }"
        (told,) = messages(
            agent(tmp_path, fields, head="limits: { max_context_bytes: 1000, max_tokens: 10000000 }"), "TV602"
        )
        project = ProjectIndex(tmp_path)
        (document,) = project.named("Workflow").values()
        total = envelope(WorkflowView(mapping(document.data)), project).proved.spend.total_tokens.value
        assert f"all steps together use {total:,.0f} tokens at most" in told

    @pytest.mark.parametrize(
        "fields",
        [
            "token_budget: 20000, max_output_tokens: 100",
            "max_tool_calls: 24, max_calls_per_turn: 3, max_wall_clock_s: 60",
            "token_budget: 100000000",
            "max_consecutive_tool_failures: 8, max_wall_clock_s: 60",
        ],
        ids=["budget", "calls", "unknown", "failures"],
    )
    def test_bound_with_effect_is_silent(self, tmp_path: Path, fields: str) -> None:
        assert messages(agent(tmp_path, fields), "TV602") == []


class TestContradictoryBounds:
    @pytest.mark.parametrize(
        ("fields", "head"),
        [
            ("retry: { attempts: 3 }, timeout_s: 30", "limits: { timeout_s: 89 }"),
            ("retry: { attempts: 3 }, timeout_s: 30, max_wall_clock_s: 89", ""),
            ("context_limits: { max_messages: 1 }, max_wall_clock_s: 60", ""),
            ("conclude: { margin: 8 }, max_wall_clock_s: 60", ""),
            ("conclude: {}, max_iterations: 1, max_wall_clock_s: 60", ""),
        ],
    )
    def test_bounds_that_exclude_each_other_are_errors(self, tmp_path: Path, fields: str, head: str) -> None:
        assert [str(finding.severity) for finding in of(agent(tmp_path, fields, head=head), "TV603")] == ["error"]

    @pytest.mark.parametrize(
        ("fields", "head"),
        [
            ("retry: { attempts: 3 }, timeout_s: 30, max_wall_clock_s: 90", ""),
            ("retry: { attempts: 3 }, max_wall_clock_s: 60", ""),
            ("retry: { attempts: 3, on: [parse_error] }, timeout_s: 60, max_wall_clock_s: 60", ""),
            ("conclude: { margin: 0 }, max_iterations: 1, max_wall_clock_s: 60", ""),
            ("timeout_s: 100", "limits: { timeout_s: 60 }"),
        ],
        ids=["fits", "default timeout", "not for transport", "never", "one attempt"],
    )
    def test_bounds_that_go_together_are_silent(self, tmp_path: Path, fields: str, head: str) -> None:
        assert messages(agent(tmp_path, fields, head=head), "TV603") == []

    def test_attempts_of_an_http_call_are_held_against_its_step(self, tmp_path: Path) -> None:
        http = '{ url: "https://a.example/", timeout: 10, retry: { attempts: 4 } }'
        steps = f"- {{ id: a, kind: APICall, timeout_s: 30, http: {http} }}"
        assert messages(check(tmp_path, workflow(steps)), "TV603") == [
            "the call of step 'a' may take 4 attempts of 10 s, 40 s in all, and `timeout_s: 30` cuts it off before"
        ]


class TestUnpricedModel:
    @pytest.mark.parametrize(
        ("fields", "head", "bound"),
        [
            ("cost_budget_usd: 1", "", "cost_budget_usd"),
            ("", "limits: { max_cost_usd: 1 }", "limits.max_cost_usd"),
        ],
    )
    def test_bound_on_dollars_without_a_price_is_an_error(
        self, tmp_path: Path, fields: str, head: str, bound: str
    ) -> None:
        report = agent(tmp_path, fields, head=head, preset="max_tokens: 100")
        said = f"`{bound}` bounds dollars, and step 'a' calls model 'own', whose price is not known"
        assert messages(report, "TV605") == [said]

    def test_policy_of_the_project_bounds_dollars_too(self, tmp_path: Path) -> None:
        files = {"tuvl.yaml": "kind: ProjectConfig\nspec: { policy: { max_cost_usd_per_run: 1 } }\n"}
        found = messages(agent(tmp_path, preset="max_tokens: 100", files=files), "TV605")
        assert [text.split(" ")[0] for text in found] == ["`policy.max_cost_usd_per_run`"]

    @pytest.mark.parametrize("model", ["openai/gpt-4o-2024-11-20", "nobody", '"${MODEL}/x"'])
    def test_listed_missing_and_variable_models_are_left_alone(self, tmp_path: Path, model: str) -> None:
        steps = f"- {{ id: a, kind: Agent, mode: completion, agent: {{ model: {model}, prompt: Hi. }} }}"
        assert messages(check(tmp_path, workflow(steps, "limits: { max_cost_usd: 1 }")), "TV605") == []

    def test_judge_and_summary_are_asked_for_their_price(self, tmp_path: Path) -> None:
        guardrail = "kind: Artifact\nmetadata: { name: g }\nspec: { type: guardrail, checks: [CHECK] }\n"
        files = {
            "llms/bare.yaml": PRESET.format(fields="max_tokens: 5").replace("name: own", "name: bare"),
            "artifacts/g.yaml": guardrail.replace("CHECK", "{ check: llm_judge, model: bare, criteria: Calm. }"),
        }
        fields = "cost_budget_usd: 1, guardrails: { output: [artifact://g@1] }"
        assert "calls model 'bare'" in messages(agent(tmp_path, fields, files=files), "TV605")[0]
        fields = "cost_budget_usd: 1, compaction: { max_tokens: 9000, model: bare }"
        assert "calls model 'bare'" in messages(agent(tmp_path, fields, files=files), "TV605")[0]

    def test_model_of_a_workflow_inside_is_asked_for_its_price(self, tmp_path: Path) -> None:
        inner = workflow("- { id: b, kind: Agent, mode: completion, agent: { model: own, prompt: Hi. } }")
        files = {"workflows/inner.yaml": inner["workflows/w.yaml"].replace("name: w", "name: inner")}
        files |= {"llms/own.yaml": PRESET.format(fields="max_tokens: 5")}
        outer = workflow("- { id: a, kind: Workflow, workflow: inner }", "limits: { max_cost_usd: 1 }")
        assert [finding.file.rsplit("/", 1)[-1] for finding in of(check(tmp_path, outer | files), "TV605")] == [
            "w.yaml"
        ]


class TestCostCeiling:
    def test_limit_below_what_the_steps_come_to_is_a_warning(self, tmp_path: Path) -> None:
        fields = "max_output_tokens: 500, max_calls_per_turn: 1"
        found = of(agent(tmp_path, fields, head="limits: { max_cost_usd: 0.2 }"), "TV604")
        assert [str(finding.severity) for finding in found] == ["warning"]
        assert "the worst case of its steps is $1." in found[0].message

    def test_nothing_is_said_where_the_cost_is_not_known(self, tmp_path: Path) -> None:
        assert messages(agent(tmp_path, head="limits: { max_cost_usd: 0.2 }"), "TV604") == []


class TestContextOverflow:
    WINDOW = f"{PRICE}, context_window: 30000"

    def test_last_request_above_the_window_is_told_with_the_numbers(self, tmp_path: Path) -> None:
        found = messages(agent(tmp_path, preset=self.WINDOW), "TV606")
        assert len(found) == 1
        assert found[0].startswith("request 8 of step 'a' may take about 79,")
        assert found[0].endswith("the window has 30,000 (context_window of model 'own')")

    @pytest.mark.parametrize(
        ("fields", "head"),
        [
            ("compaction: {}", ""),
            ("context_limits: { max_bytes: 90000 }", ""),
            ("tool_result_max_chars: 2000", "limits: { max_context_bytes: 20000 }"),
            ("token_budget: 9000", "limits: { max_context_bytes: 20000 }"),
        ],
    )
    def test_shortened_or_small_requests_are_silent(self, tmp_path: Path, fields: str, head: str) -> None:
        assert messages(agent(tmp_path, fields, head=head, preset=self.WINDOW), "TV606") == []

    def test_unknown_window_is_silent(self, tmp_path: Path) -> None:
        assert messages(agent(tmp_path), "TV606") == []


class TestNumbersAsWritten:
    HUGE = 10**30

    @pytest.mark.parametrize("field", ["max_consecutive_tool_failures", "answer_retries", "max_tool_calls"])
    def test_a_bound_is_quoted_as_it_stands_in_the_file(self, tmp_path: Path, field: str) -> None:
        fields = f"{field}: {self.HUGE}, max_calls_per_turn: 2, max_wall_clock_s: 60"
        (found,) = messages(agent(tmp_path, fields), "TV602")
        assert f"`{field}: {self.HUGE}` of step 'a'" in found

    def test_iterations_are_quoted_as_they_stand_in_the_file(self, tmp_path: Path) -> None:
        (found,) = messages(agent(tmp_path, f"max_iterations: {self.HUGE}"), "TV601")
        assert f"only its {self.HUGE} iterations" in found

    def test_seconds_are_not_rounded(self, tmp_path: Path) -> None:
        found = messages(agent(tmp_path, "max_wall_clock_s: 1234567.5", head="limits: { timeout_s: 1234567 }"), "TV602")
        assert "`max_wall_clock_s: 1234567.5` of step 'a'" in found[0]
        assert "`limits.timeout_s: 1234567` ends it before" in found[0]

    def test_more_items_than_steps_are_told(self, tmp_path: Path) -> None:
        steps = """
            - { id: each, kind: ForEach, items: "{{ list }}", as: one, step: body, max_items: N, output_key: all }
            - { id: body, kind: Functional, runner: set, values: { x: 1 } }
        """
        told = check(tmp_path, workflow(steps.replace("N", "300"), "limits: { max_steps: 300 }"))
        assert messages(told, "TV602") == [
            "`max_items: 300` of step 'each' is never reached: each item is a step,"
            " and `limits.max_steps: 300` ends the run before"
        ]
        assert messages(check(tmp_path, workflow(steps.replace("N", "199"))), "TV602") == []
