"""The picture of a workflow, and its two text formats."""

import re

import pytest
import yaml

from tuvl.analysis.picture import Arrow, Node, Picture, picture_of
from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Severity
from tuvl.cli.dot import dot
from tuvl.cli.mermaid import mermaid
from tuvl.drawing.notes import Note

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
        ("gone", "completed"): ("route", ("default",)),
        ("gone", "failed"): ("route", ("error",)),
        ("last", "completed"): ("route", ()),
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
    assert '  s2 -->|"yes#95;<br/>no#95;<br/>max_iterations"| s4\n' in text
    assert '  s2 -.->|"tool"| s5\n' in text
    assert "  class s5 aside\n" in text


def test_mermaid_never_uses_its_own_word_end_as_a_name() -> None:
    text = mermaid(picture())
    assert not re.search(r"> end\b", text)
    assert len(re.findall(r"^\s*end\b", text, re.MULTILINE)) == text.count("subgraph")


def test_mermaid_and_dot_escape_what_labels_may_hold() -> None:
    nasty = 'a"]; b|c\\n<script>`#\n& {x} %%{init: {}}%% $$y$$ *z* _w_ \x07\u202e'
    shown = Picture(
        title=nasty,
        nodes=(Node(key="s1", shape="step", label=nasty, kind=nasty), Node(key="m2", shape="missing", label=nasty)),
        arrows=(Arrow(source="s1", target="m2", labels=(nasty,)),),
    )
    escaped = (
        "a#34;]; b#124;c#92;n#60;script#62;#96;#35; #38; #123;x#125; #37;#37;#123;init: #123;#125;#125;#37;#37; "
        "#36; #36;y#36; #36; #42;z#42; #95;w#95; #92;x07#92;u202e"
    )
    assert mermaid(shown).splitlines()[4:7] == [
        f'  s1["{escaped}<br/>{escaped}"]',
        f'  m2["{escaped}<br/>not there"]',
        f'  s1 -->|"{escaped}"| m2',
    ]
    quoted = 'a\\"]; b|c\\\\n<script>`# & {x} %%{init: {}}%% $$y$$ *z* _w_ \\\\x07\\\\u202e'
    assert dot(shown).splitlines()[0] == f'digraph "{quoted}" {{'
    assert f'  s1 -> m2 [label="{quoted}"]' in dot(shown).splitlines()


@pytest.mark.parametrize(
    ("label", "written"),
    [("1. item", "#49;. item"), ("- item", "#45; item"), ("load_order", "load_order"), ("", "#32;")],
)
def test_mermaid_label_is_never_a_list_or_an_emphasis(label: str, written: str) -> None:
    shown = Picture(title="t", nodes=(Node(key="s1", shape="step", label=label, kind="Router"),), arrows=())
    assert f'  s1{{{{"{written}<br/>Router"}}}}' in mermaid(shown).splitlines()


def test_notes_stand_in_the_box_and_the_worst_finding_sets_its_look() -> None:
    notes = {"s2": Note(lines=("writes", "1 error: TV203 outcome-unrouted"), worst=Severity.ERROR)}
    assert "Agent, autonomous<br/>writes<br/>1 error: TV203 outcome-unrouted" in mermaid(picture(), notes)
    assert "  class s2 error" in mermaid(picture(), notes).splitlines()
    assert 'Agent, autonomous\\nwrites\\n1 error: TV203 outcome-unrouted", color="#b91c1c", penwidth=3' in dot(
        picture(), notes
    )


def test_exits_that_only_failures_take_are_dimmed() -> None:
    numbers = [number for number, arrow in enumerate(picture().arrows) if arrow.failing]
    assert [picture().arrows[number].labels for number in numbers] == [("error",)] * 3
    assert f"  linkStyle {','.join(map(str, numbers))} stroke:#9aa4b2,stroke-dasharray: 5 3" in mermaid(picture())
    assert sum("style=dashed, color" in line for line in dot(picture()).splitlines()) == 3


def test_signal_without_a_route_leads_to_the_failed_end() -> None:
    shown = picture_of(view(WORKFLOW.replace("max_iterations: last, ", "")))
    faults = [(arrow.source, arrow.target, arrow.labels) for arrow in shown.arrows if arrow.style == "fault"]
    assert faults == [("s2", "failed", ("max_iterations",))]
    assert any(line.startswith("  linkStyle") and "#b91c1c" in line for line in mermaid(shown).splitlines())
    assert '  s2 -> failed [label="max_iterations", style=dotted' in dot(shown)


def test_tools_are_framed_with_their_agent() -> None:
    lines = [line.strip() for line in mermaid(picture()).splitlines()]
    start = lines.index('subgraph of_s2["at the side of agent"]')
    assert lines[start + 1 : start + 3] == ['s5["lookup<br/>Functional"]', "end"]
    assert "  subgraph cluster_s2 {" in dot(picture()).splitlines()


def test_dot_draws_tools_dashed_and_keeps_an_agents_round_corners() -> None:
    lines = [line.strip() for line in dot(picture()).splitlines()]
    assert 's2 [shape=box, style="rounded", label="agent\\nAgent, autonomous"]' in lines
    assert 's5 [shape=box, style="dashed", label="lookup\\nFunctional"]' in lines
    assert 's2 -> s5 [label="tool", style=dashed]' in lines


def test_graph_of_thousands_of_steps_is_drawn() -> None:
    steps = "\n".join(f"    - {{ id: s{number}, kind: Response, source: a }}" for number in range(3000))
    shown = picture_of(view(f"kind: Workflow\nspec:\n  steps:\n{steps}\n"))
    assert len(shown.arrows) == 3001
