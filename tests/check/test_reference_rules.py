"""The checks of names, where their reading is not obvious."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow

GUARD = """
    kind: Artifact
    metadata: { name: guard, version: 1 }
    spec: { type: guardrail, checks: [{ check: max_chars, limit: 10 }] }
"""


def completion(field: str) -> dict[str, str]:
    return workflow(f"- {{ id: a, kind: Agent, mode: completion, agent: {{ model: a/b, {field} }} }}")


def prose(name: str, type: str, *, version: int = 1, more: str = "") -> str:
    return f"---\nname: {name}\ntype: {type}\nversion: {version}\n{more}---\nText.\n"


class TestArtifacts:
    @pytest.mark.parametrize(
        ("reference", "says"),
        [
            ("artifact://tone@3", "no version 3; there is 1, 2"),
            ("artifact://tonne@1", "'tonne' is not in this project"),
            ("artifact://old@1", "'old' is not enabled"),
            ("artifact://tone@x", "is no artifact reference"),
            ("artifact://tone@0", "is no artifact reference"),
            ("artifact:/tone", "is no artifact reference"),
        ],
    )
    def test_message_says_what_is_there_instead(self, tmp_path: Path, reference: str, says: str) -> None:
        files = completion(f'prompt: "{reference}"') | {
            "artifacts/tone-1.md": prose("tone", "prompt"),
            "artifacts/tone-2.md": prose("tone", "prompt", version=2),
            "artifacts/old.md": prose("old", "prompt", more="enabled: false\n"),
        }
        found = messages(check(tmp_path, files), "TV204")
        assert [says in message for message in found] == [True]

    def test_reference_without_a_version_means_the_highest(self, tmp_path: Path) -> None:
        files = completion("prompt: artifact://tone") | {"artifacts/tone.md": prose("tone", "prompt", version=7)}
        report = check(tmp_path, files)
        assert messages(report, "TV204") == messages(report, "TV205") == []

    @pytest.mark.parametrize(
        ("field", "type", "fits"),
        [
            ("system", "prompt", True),
            ("prompt", "prompt", True),
            ("prompt", "steering", False),
            ("skills", "skill", True),
            ("skills", "prompt", False),
        ],
    )
    def test_place_takes_its_own_types(self, tmp_path: Path, field: str, type: str, fits: bool) -> None:
        value = "[artifact://x@1]" if field == "skills" else "artifact://x@1"
        report = check(tmp_path, completion(f"{field}: {value}") | {"artifacts/x.md": prose("x", type)})
        assert (messages(report, "TV205") == []) is fits

    @pytest.mark.parametrize("type", ["steering", "prompt"])
    def test_steering_may_be_a_prompt(self, tmp_path: Path, type: str) -> None:
        steps = """
            - id: a
              kind: Agent
              mode: autonomous
              agent: { model: a/b, steering: artifact://x@1, tools: [{ ref: t }] }
              routes: { max_iterations: END, aborted: END }
            - { id: t, kind: Functional, runner: set, values: { x: 1 }, description: A tool. }
        """
        assert messages(check(tmp_path, workflow(steps) | {"artifacts/x.md": prose("x", type)}), "TV205") == []

    @pytest.mark.parametrize(
        "files",
        [
            workflow("- { id: a, kind: Functional, runner: log, message: Hi. }", "hooks: [audit]"),
            workflow("- { id: a, kind: Functional, runner: log, message: Hi., hooks: [audit] }"),
            workflow("- { id: a, kind: MCP, mcp: { server: shop, tool: find } }"),
        ],
        ids=["workflow hook", "step hook", "server"],
    )
    def test_place_for_references_takes_no_other_text(self, tmp_path: Path, files: dict[str, str]) -> None:
        assert len(messages(check(tmp_path, files), "TV204")) == 1

    def test_criteria_of_a_judge_are_looked_up_in_a_guardrail_document(self, tmp_path: Path) -> None:
        judge = "{ check: llm_judge, model: a/b, criteria: artifact://strict@1 }"
        guard = GUARD.replace("{ check: max_chars, limit: 10 }", judge)
        report = check(tmp_path, {"artifacts/guard.yaml": guard})
        assert [finding.path for finding in of(report, "TV204")] == ["spec.checks[0].criteria"]

    def test_artifact_in_use_in_any_version_is_not_unused(self, tmp_path: Path) -> None:
        files = completion("prompt: artifact://tone@1") | {
            "artifacts/tone-1.md": prose("tone", "prompt"),
            "artifacts/tone-2.md": prose("tone", "prompt", version=2),
        }
        assert messages(check(tmp_path, files), "TV210") == []


class TestModels:
    @pytest.mark.parametrize("model", ["openai/gpt-4o", "writer"])
    def test_preset_or_provider_string_is_known(self, tmp_path: Path, model: str) -> None:
        preset = "kind: AgentModel\nmetadata: { name: writer }\nspec: { provider: openai, model: x }\n"
        files = workflow(f"- {{ id: a, kind: Agent, mode: completion, agent: {{ model: {model}, prompt: Hi. }} }}")
        report = check(tmp_path, files | {"llms/writer.yaml": preset})
        assert messages(report, "TV206") == []

    def test_default_model_of_the_project_is_looked_up_too(self, tmp_path: Path) -> None:
        config = "kind: ProjectConfig\nspec: { default_model: writer }\n"
        (finding,) = of(check(tmp_path, {"tuvl.yaml": config}), "TV206")
        assert finding.path == "spec.default_model"


class TestSteps:
    TOOLS = """
        - id: a
          kind: Agent
          mode: autonomous
          agent: {{ model: a/b, steering: Do it., tools: [{{ ref: {ref}, description: It. }}] }}
          routes: {{ max_iterations: END, aborted: END }}
        - {{ id: t, {step} }}
    """

    @pytest.mark.parametrize(
        ("step", "can"),
        [
            ('kind: APICall, http: { url: "https://a.example/" }', True),
            ("kind: MCP, mcp: { server: artifact://s@1, tool: x }", True),
            ("kind: ModelOp, model: Order, operation: list", True),
            ("kind: Router, condition: { field: a, operator: is_empty }", True),
            ("kind: Functional, runner: set, values: { x: 1 }", True),
            ("kind: Workflow, workflow: w2", True),
            ("kind: Response, source: x", False),
            ("kind: HumanInTheLoop, ui: { title: Ok }", False),
            ("kind: Agent, mode: completion, agent: { model: a/b, prompt: Hi. }", False),
            ('kind: ForEach, items: "{{ x }}", step: a', False),
        ],
    )
    def test_only_some_kinds_can_be_tools(self, tmp_path: Path, step: str, can: bool) -> None:
        found = messages(check(tmp_path, workflow(self.TOOLS.format(ref="t", step=step))), "TV202")
        assert any("cannot be a tool" in message for message in found) is not can

    def test_agent_cannot_be_its_own_tool(self, tmp_path: Path) -> None:
        steps = self.TOOLS.format(ref="a", step="kind: Functional, runner: log, message: Hi.")
        assert messages(check(tmp_path, workflow(steps)), "TV202") == ["step 'a' names itself as its tool"]

    def test_body_and_sub_workflow_must_be_there(self, tmp_path: Path) -> None:
        steps = """
            - { id: each, kind: ForEach, items: "{{ list }}", step: nothing }
            - { id: sub, kind: Workflow, workflow: nobody }
        """
        found = messages(check(tmp_path, workflow(steps)), "TV202")
        assert len(found) == 2
        assert "'nothing'" in found[0]
        assert "'nobody'" in found[1]

    def test_loops_that_are_each_others_body_are_refused(self, tmp_path: Path) -> None:
        steps = """
            - { id: work, kind: Functional, runner: log, message: Hi. }
            - { id: a, kind: ForEach, items: "{{ x }}", step: b }
            - { id: b, kind: ForEach, items: "{{ x }}", step: a }
        """
        assert len(messages(check(tmp_path, workflow(steps)), "TV202")) == 1

    def test_preserved_tools_are_tools_of_the_agent(self, tmp_path: Path) -> None:
        agent = "model: a/b, steering: S, tools: [{ ref: ledger, description: d }]"
        steps = f"""
            - id: a
              kind: Agent
              mode: autonomous
              agent: {{ {agent}, compaction: {{ max_tokens: 100, preserve: [ledgr] }} }}
            - {{ id: ledger, kind: Functional, runner: set, values: {{ x: 1 }} }}
        """
        (message,) = messages(check(tmp_path, workflow(steps)), "TV202")
        assert "names 'ledgr', which is none of its tools" in message

    def test_helper_must_be_a_functional_step(self, tmp_path: Path) -> None:
        steps = self.TOOLS.format(ref="t", step="kind: Functional, runner: log, message: Hi.")
        steps = steps.replace("steering:", "trim: slim, steering:")
        steps += '    - { id: slim, kind: APICall, http: { url: "https://a.example/" } }\n'
        assert "cannot be a helper" in messages(check(tmp_path, workflow(steps)), "TV202")[0]


class TestNodes:
    def test_broken_file_is_named_where_a_node_is_missed(self, tmp_path: Path) -> None:
        files = workflow("- { id: a, kind: Functional, runner: price }") | {"nodes/price.py": "def price(:\n"}
        report = check(tmp_path, files)
        assert "price.py" in (of(report, "TV207")[0].hint or "")
        assert len(of(report, "TV211")) == 1

    def test_name_in_two_files_is_reported_at_the_second(self, tmp_path: Path) -> None:
        source = 'from tuvl import node\n\n\n@node("n")\ndef f(ctx): ...\n'
        report = check(
            tmp_path,
            workflow("- { id: a, kind: Functional, runner: n }") | {"nodes/a.py": source, "nodes/b.py": source},
        )
        (finding,) = of(report, "TV211")
        assert finding.file.endswith("b.py")
        assert finding.line == 4

    @pytest.mark.parametrize(
        "runner", ["set, values: { x: 1 }", "wait, seconds: 1", "fail, message: No.", "log, message: Hi."]
    )
    def test_built_in_nodes_need_no_file(self, tmp_path: Path, runner: str) -> None:
        assert messages(check(tmp_path, workflow(f"- {{ id: a, kind: Functional, runner: {runner} }}")), "TV207") == []


class TestData:
    ORDER = """
        kind: ModelDefinition
        metadata: { name: Order }
        spec: { tablename: orders, fields: [{ name: id, type: integer, primary_key: true }] }
    """
    LIST = "- { id: a, kind: ModelOp, model: Order, operation: list }"

    @pytest.mark.parametrize("context", ["Order", "[Order]", "{ models: [{ name: Order }] }"])
    def test_context_may_be_written_in_three_ways(self, tmp_path: Path, context: str) -> None:
        files = workflow(self.LIST, f"context: {context}") | {"models/order.yaml": self.ORDER}
        assert messages(check(tmp_path, files), "TV208") == []

    def test_model_that_is_nowhere_is_reported_at_the_step(self, tmp_path: Path) -> None:
        (finding,) = of(check(tmp_path, workflow(self.LIST, "context: Order")), "TV208")
        assert finding.path == "spec.steps[0].model"
        assert "not defined" in finding.message

    def test_unknown_name_in_the_context_is_reported_there(self, tmp_path: Path) -> None:
        files = workflow("- { id: a, kind: Functional, runner: log, message: Hi. }", "context: [Nothing]")
        (finding,) = of(check(tmp_path, files), "TV208")
        assert finding.path == "spec.context[0]"


def test_trigger_is_compared_with_its_method(tmp_path: Path) -> None:
    def triggered(name: str, trigger: str) -> str:
        return (
            f"kind: Workflow\nmetadata: {{ name: {name} }}\nspec:\n  trigger: {trigger}\n"
            "  steps: [{ id: a, kind: Functional, runner: log, message: Hi. }]\n"
        )

    files = {
        "workflows/a.yaml": triggered("a", "{ path: /x }"),
        "workflows/b.yaml": triggered("b", "{ path: /x, method: GET }"),
        "workflows/c.yaml": triggered("c", "{ path: /x, method: POST }"),
        "workflows/d.yaml": "enabled: false\n" + triggered("d", "{ path: /x }"),
    }
    (finding,) = of(check(tmp_path, files), "TV212")
    assert finding.file.endswith("c.yaml")
    assert "a.yaml" in finding.message


def test_workflow_that_runs_itself_is_a_cycle(tmp_path: Path) -> None:
    report = check(tmp_path, workflow("- { id: again, kind: Workflow, workflow: w }"))
    assert messages(report, "TV213") == ["workflow 'w' calls itself: w → w"]
    assert messages(report, "TV202") == []


def test_workflow_that_calls_into_somebody_elses_cycle_is_not_on_it(tmp_path: Path) -> None:
    def calls(name: str, other: str) -> str:
        steps = f"[{{ id: a, kind: Workflow, workflow: {other} }}]"
        return f"kind: Workflow\nmetadata: {{ name: {name} }}\nspec:\n  steps: {steps}\n"

    files = {
        "workflows/a.yaml": calls("a", "b"),
        "workflows/b.yaml": calls("b", "c"),
        "workflows/c.yaml": calls("c", "b"),
    }
    found = of(check(tmp_path, files), "TV213")
    assert sorted(Path(finding.file).name for finding in found) == ["b.yaml", "c.yaml"]


def test_node_with_the_name_of_a_built_in_one_is_told(tmp_path: Path) -> None:
    source = 'from tuvl import node\n\n\n@node("set")\ndef assign(ctx):\n    return {}\n'
    files = workflow("- { id: a, kind: Functional, runner: set, values: { x: 1 } }") | {"nodes/n.py": source}
    (message,) = messages(check(tmp_path, files), "TV211")
    assert message == "node 'set' is never called: that is the name of a built-in node"
