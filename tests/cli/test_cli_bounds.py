"""`tuvl bounds`: three forms of one document, and gates that name the figure that is above them."""

import json
from pathlib import Path

import pytest

from tests.check.project_files import write
from tuvl.__main__ import main

AGENT = """\
kind: Workflow
metadata: { name: triage }
spec:
  limits: { max_context_bytes: 20000, timeout_s: 300 }
  steps:
    - id: triage
      kind: Agent
      mode: autonomous
      agent:
        model: default
        steering: Answer.
        max_iterations: 4
        max_output_tokens: 500
        max_calls_per_turn: 2
        tools: [{ ref: look, description: Look. }]
      routes: { max_iterations: END, budget_exceeded: END, error: END, aborted: END }
    - { id: look, kind: Functional, runner: set, values: { x: 1 } }
"""
PRESET = """\
kind: AgentModel
metadata: { name: default }
spec:
  provider: openai_compatible
  api_base: https://models.example/v1
  model: m
  price: { input_per_mtok: 2, output_per_mtok: 8 }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"tuvl.yaml": "kind: ProjectConfig\n", "workflows/triage.yaml": AGENT, "llms/default.yaml": PRESET}
    monkeypatch.chdir(write(tmp_path, files))
    return tmp_path


def document(capfd: pytest.CaptureFixture[str], *words: str) -> dict:
    main(["bounds", "triage", "--format", "json", *words])
    return json.loads(capfd.readouterr().out)


def test_document_has_the_same_keys_whatever_is_known(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = document(capfd, "--max-cost-usd", "9")
    preset = PRESET.replace("  price: { input_per_mtok: 2, output_per_mtok: 8 }\n", "")
    write(
        project,
        {"llms/default.yaml": preset, "workflows/triage.yaml": AGENT.replace("        max_output_tokens: 500\n", "")},
    )
    unsaid = document(capfd, "--max-cost-usd", "9")
    assert shape(known) == shape(unsaid)
    assert unsaid["proved"]["cost_usd"]["state"] == "unknown"
    assert unsaid["passed"] is False


def shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in {"value", "assumptions"}}
    return [shape(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else None


def test_figures_are_those_of_the_file(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = document(capfd)
    assert found["proved"]["model_calls"] == {
        "state": "bounded",
        "value": 4,
        "bound_by": ["triage: max_iterations"],
        "needs": [],
        "unknown": [],
    }
    assert found["proved"]["tool_calls"]["value"] == 8
    assert found["proved"]["output_tokens"]["value"] == 2000
    assert found["proved"]["seconds"]["bound_by"] == ["limits.timeout_s"]
    assert 0 < found["expected"]["total_tokens"]["value"] < found["proved"]["total_tokens"]["value"]
    assert [(agent["step"], agent["times"]) for agent in found["agents"]] == [("triage", 1)]


@pytest.mark.parametrize(
    ("gate", "low", "high", "what"),
    [
        ("--max-cost-usd", "0.01", "100", "USD is"),
        ("--max-tokens", "1000", "100000000", "tokens is"),
        ("--max-seconds", "10", "1000", "seconds is 305, above --max-seconds 10"),
    ],
)
def test_gate_fails_with_1_and_names_the_figure(
    project: Path, gate: str, low: str, high: str, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bounds", "triage", gate, high]) == 0
    assert capfd.readouterr().err == ""
    assert main(["bounds", "triage", gate, low]) == 1
    assert f"tuvl: the proved worst case of {what}" in capfd.readouterr().err


def test_gate_says_whether_the_expected_figure_is_above_too(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = document(capfd)
    between = (found["proved"]["cost_usd"]["value"] + found["expected"]["cost_usd"]["value"]) / 2
    main(["bounds", "triage", "--max-cost-usd", str(between)])
    assert capfd.readouterr().err.rstrip().endswith("is not")
    main(["bounds", "triage", "--max-cost-usd", "0.0001"])
    assert capfd.readouterr().err.rstrip().endswith("is, too")


def test_unbounded_is_said_with_the_field_that_would_bound_it(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = AGENT.replace("        max_calls_per_turn: 2\n", "").replace("        max_output_tokens: 500\n", "")
    write(project, {"workflows/triage.yaml": text})
    assert main(["bounds", "triage", "--max-tokens", "1000000000"]) == 1
    out, err = capfd.readouterr()
    needed = "triage: max_calls_per_turn or triage: max_tool_calls would bound it"
    assert f"  tool calls: unbounded; {needed}" in out
    assert "the proved worst case of tokens is unbounded, so it is not within --max-tokens 1,000,000,000" in err


def test_markdown_has_the_table_and_the_verdict(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["bounds", "triage", "--format", "markdown", "--max-cost-usd", "9", "--max-tokens", "5"])
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "### Worst case of `triage`"
    assert lines[2] == "|  |  | model calls | tool calls | input tokens | output tokens | tokens | USD | seconds |"
    assert lines[4].startswith("| triage | proved | 4 | 8 |")
    assert [line[:3] for line in lines if line.startswith(("- ✅", "- ❌"))] == ["- ✅", "- ❌"]


def test_workflow_without_agents_uses_nothing(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    step = "- { id: a, kind: Functional, runner: set, values: { x: 1 } }"
    write(
        project,
        {"workflows/triage.yaml": f"kind: Workflow\nmetadata: {{ name: triage }}\nspec:\n  steps:\n    {step}\n"},
    )
    assert main(["bounds", "triage", "--max-cost-usd", "0.0001", "--max-tokens", "1", "--max-seconds", "1"]) == 0
    assert "the whole run  proved              0           0" in capfd.readouterr().out


@pytest.mark.parametrize("word", ["none", "0", "-1", "nan", "inf", "1_0", "1.5"])
def test_gate_that_is_no_number_is_misuse(project: Path, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "triage", "--max-tokens", word]) == 2
    assert f"--max-tokens takes a whole number above 0, not '{word}'" in capfd.readouterr().err


def test_broken_file_is_told(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, {"workflows/triage.yaml": "kind: [Workflow\n"})
    assert main(["bounds", "workflows/triage.yaml"]) == 2
    assert "cannot be read as YAML" in capfd.readouterr().err


def test_validate_holds_every_workflow_against_a_ceiling(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--max-cost-usd", "100"]) == 0
    capfd.readouterr()
    assert main(["validate", "--max-cost-usd", "0.05"]) == 1
    out = capfd.readouterr().out
    assert "workflows/triage.yaml:2:19: TV604 error: a run of 'triage' may cost $" in out
    assert "above --max-cost-usd 0.05" in out


def test_ceiling_over_an_unbounded_run_is_not_passed(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(project, {"workflows/triage.yaml": AGENT.replace("        max_output_tokens: 500\n", "")})
    assert main(["validate", "--max-cost-usd", "100"]) == 1
    assert "so it is not within --max-cost-usd 100" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("line", "now", "hint"),
    [
        (
            "",
            "",
            "lower `max_iterations`, `token_budget` or `limits.max_context_bytes`; `tuvl bounds` shows what costs most",
        ),
        (
            "max_iterations: 4\n",
            "max_iterations: 4\n        trim: look\n",
            "declare that bound; `tuvl bounds` shows all",
        ),
        ("        max_output_tokens: 500\n", "", "`tuvl bounds` shows what is not known"),
        (
            "  price: { input_per_mtok: 2, output_per_mtok: 8 }\n",
            "",
            "give the model a `price:` in its `kind: AgentModel`",
        ),
    ],
)
def test_hint_of_a_ceiling_is_what_helps(
    project: Path, capfd: pytest.CaptureFixture[str], line: str, now: str, hint: str
) -> None:
    files = {"workflows/triage.yaml": AGENT, "llms/default.yaml": PRESET}
    write(project, {name: text.replace(line, now) for name, text in files.items()} if line else files)
    assert main(["validate", "--select", "TV604", "--max-cost-usd", "0.0001"]) == 1
    assert f"  hint: {hint}" in capfd.readouterr().out


def test_settings_of_the_environment_count(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {"workflows/triage.yaml": AGENT.replace(", timeout_s: 300", "")})
    before = document(capfd)["proved"]["seconds"]["value"]
    monkeypatch.setenv("TUVL_AGENT_TOOL_TIMEOUT_S", "10")
    assert document(capfd)["proved"]["seconds"]["value"] == before
    text = AGENT.replace(", timeout_s: 300", "").replace("runner: set, values: { x: 1 }", "runner: mine")
    write(project, {"workflows/triage.yaml": text})
    assert document(capfd)["proved"]["seconds"]["value"] == 4 * 120 + 8 * 15
