"""The picture of a workflow."""

import re
from pathlib import Path

import pytest
import yaml

from tuvl.analysis.picture import Arrow, Node, Picture, picture_of
from tuvl.analysis.steps import WorkflowView
from tuvl.cli.app import main
from tuvl.cli.dot import dot
from tuvl.cli.mermaid import mermaid

WORKFLOW = """
kind: Workflow
metadata: { name: desk }
spec:
  steps:
    - { id: load, kind: APICall, routes: { error: gone } }
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        tools: [{ ref: lookup, description: d }, { ref: nowhere, description: d }]
        outcome: { enum: [yes_, no_] }
      routes: { yes_: last, no_: last, max_iterations: last, error: missing_step }
    - { id: gone, kind: Functional, runner: fail, message: m, routes: { default: END } }
    - { id: last, kind: Response, source: reply }
    - { id: lookup, kind: Functional, runner: look, routes: { default: last } }
"""


def view(text: str) -> WorkflowView:
    return WorkflowView(yaml.safe_load(text))


def picture() -> Picture:
    return picture_of(view(WORKFLOW))


def test_picture_has_every_step_with_kind_and_mode_in_file_order() -> None:
    steps = [(node.label, node.kind, node.off_spine) for node in picture().nodes if node.shape == "step"]
    assert steps == [
        ("load", "APICall", False),
        ("agent", "Agent, autonomous", False),
        ("gone", "Functional", False),
        ("last", "Response", False),
        ("lookup", "Functional", True),
    ]


def test_signals_with_one_target_share_an_arrow_and_fall_through_has_no_label() -> None:
    shown = picture()
    names = {node.key: node.label for node in shown.nodes}
    arrows = {(names[each.source], names[each.target]): (each.style, each.labels) for each in shown.arrows}
    assert arrows == {
        ("start", "load"): ("route", ()),
        ("load", "gone"): ("route", ("error",)),
        ("load", "agent"): ("route", ()),
        ("agent", "last"): ("route", ("yes_", "no_", "max_iterations")),
        ("agent", "missing_step"): ("route", ("error",)),
        ("agent", "lookup"): ("reference", ("tool",)),
        ("agent", "nowhere"): ("reference", ("tool",)),
        ("gone", "end"): ("route", ("default",)),
        ("last", "end"): ("route", ()),
    }


def test_target_that_is_not_there_is_shown_as_missing() -> None:
    missing = [node.label for node in picture().nodes if node.shape == "missing"]
    assert missing == ["missing_step", "nowhere"]


def test_picture_of_a_workflow_without_steps_is_only_its_start() -> None:
    shown = picture_of(view("kind: Workflow\nmetadata: {name: empty}\nspec: {steps: nothing}"))
    assert [node.label for node in shown.nodes] == ["start"]
    assert shown.arrows == ()


def test_same_file_gives_the_same_picture() -> None:
    assert mermaid(picture()) == mermaid(picture())
    assert dot(picture()) == dot(picture())


def test_mermaid_draws_kinds_by_shape_and_tools_dashed() -> None:
    text = mermaid(picture())
    assert text.startswith('---\ntitle: "desk"\n---\nflowchart TD\n')
    assert '  s1[["load<br/>APICall"]]\n' in text
    assert '  s2(["agent<br/>Agent, autonomous"])\n' in text
    assert '  s2 -->|"yes_<br/>no_<br/>max_iterations"| s4\n' in text
    assert '  s2 -.->|"tool"| s5\n' in text
    assert "  class s5 aside\n" in text


def test_mermaid_never_uses_its_own_word_end_as_a_name() -> None:
    assert not re.search(r"^\s*end\b|> end\b", mermaid(picture()), re.MULTILINE)


def test_mermaid_and_dot_escape_what_labels_may_hold() -> None:
    nasty = 'a"]; b|c\\n<script>`#\n&'
    shown = Picture(
        title=nasty,
        nodes=(Node(key="s1", shape="step", label=nasty, kind=nasty), Node(key="m2", shape="missing", label=nasty)),
        arrows=(Arrow(source="s1", target="m2", labels=(nasty,)),),
    )
    escaped = "a#quot;]; b#124;c#92;n#lt;script#gt;#96;#35; #amp;"
    assert mermaid(shown).splitlines()[4:7] == [
        f'  s1["{escaped}<br/>{escaped}"]',
        f'  m2["{escaped}<br/>not there"]',
        f'  s1 -->|"{escaped}"| m2',
    ]
    quoted = 'a\\"]; b|c\\\\n<script>`# &'
    assert dot(shown).splitlines()[0] == f'digraph "{quoted}" {{'
    assert f'  s1 -> m2 [label="{quoted}"]' in dot(shown).splitlines()


def test_dot_draws_tools_dashed_and_keeps_an_agents_round_corners() -> None:
    lines = dot(picture()).splitlines()
    assert '  s2 [shape=box, style="rounded", label="agent\\nAgent, autonomous"]' in lines
    assert '  s5 [shape=box, style="dashed", label="lookup\\nFunctional"]' in lines
    assert '  s2 -> s5 [label="tool", style=dashed]' in lines


def test_graph_of_thousands_of_steps_is_drawn() -> None:
    steps = "\n".join(f"    - {{ id: s{number}, kind: Response, source: a }}" for number in range(3000))
    shown = picture_of(view(f"kind: Workflow\nspec:\n  steps:\n{steps}\n"))
    assert len(shown.arrows) == 3001


def test_command_prints_the_picture_or_writes_it_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flow = tmp_path / "desk.yaml"
    flow.write_text(WORKFLOW, encoding="utf-8")
    target = tmp_path / "desk.dot"
    assert main(["graph", str(flow), "--format", "dot", "--output", str(target)]) == 0
    assert capfd.readouterr().out == ""
    assert main(["graph", str(flow), "--format", "dot"]) == 0
    assert capfd.readouterr().out == target.read_text(encoding="utf-8") == dot(picture())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["desk.dot", "desk.yaml"]
