"""Where signals lead: the spine, fall-through, ends, what is reached and what loops."""

from typing import Any

import pytest

from tests.analysis.workflows import Found, Nodes, Project, agent, call, decide, graph, node, work
from tuvl.analysis.graph import route_graph
from tuvl.analysis.route_faults import no_way_out
from tuvl.analysis.steps import END, WorkflowView


def test_entry_is_the_first_step_that_others_do_not_merely_refer_to() -> None:
    found = graph(call("lookup"), agent("triage", "lookup"), work("reply"))
    assert found.entry == "triage"
    assert found.spine == ("triage", "reply")
    assert found.off_spine == {"lookup"}


def test_tool_that_a_route_names_is_on_the_spine() -> None:
    found = graph(agent("triage", "lookup", routes={"error": "lookup"}), call("lookup"))
    assert found.spine == ("triage", "lookup")


@pytest.mark.parametrize(
    "owner",
    [
        {"id": "a", "kind": "ForEach", "items": "{{ list }}", "step": "b"},
        agent("a", trim="b"),
        agent("a", tool_surface="b"),
        agent("a", continue_on_stop="b"),
        agent("a", conversation="b"),
        agent("a", reserve={"reserve": "b"}),
        agent("a", reserve={"refund": "b"}),
        agent("a", reserve={"observe_request": "b"}),
    ],
    ids=["body", "trim", "surface", "continue_on_stop", "conversation", "reserve", "refund", "observe"],
)
def test_step_that_another_only_refers_to_is_off_the_spine(owner: dict[str, Any]) -> None:
    assert graph(owner, work("b"), work("c")).spine == ("a", "c")


@pytest.mark.parametrize("where", ["workflow", "step"])
def test_target_of_an_attached_hook_is_off_the_spine(where: str) -> None:
    hook = Found({"type": "hook", "on": "on_error", "action": "notify", "target": "page"}, "hook")
    project = Project(artifacts={"artifact://page-ops@1": hook})
    hooks = ["artifact://page-ops@1"]
    first = work("a") | ({"hooks": hooks} if where == "step" else {})
    spec = {"hooks": hooks} if where == "workflow" else {}
    assert graph(first, call("page"), project=project, **spec).spine == ("a",)


def test_built_in_conversation_store_is_no_reference_to_a_step() -> None:
    assert graph(agent("a", conversation={"store": "sql", "id": "b"}), work("b")).spine == ("a", "b")


def test_unmapped_default_falls_through_to_the_next_step_of_the_spine() -> None:
    found = graph(work("a"), call("lookup"), agent("triage", "lookup"))
    assert found.next_of("a") == "triage"
    assert found.edges["a"] == {"default": "triage"}
    assert found.falls_through("a")
    assert found.next_of("lookup") is None


def test_fall_through_of_the_last_step_ends_the_run() -> None:
    found = graph(work("a"))
    assert found.edges["a"] == {"default": END}
    assert found.next_of("a") is None


def test_step_that_never_returns_default_does_not_fall_through() -> None:
    found = graph(decide("check", "b", "c"), work("b"), work("c"))
    assert not found.falls_through("check")
    assert found.edges["check"] == {"true": "b", "false": "c"}


def test_agent_with_outcomes_does_not_fall_through() -> None:
    found = graph(agent("a", "t", outcome={"enum": ["done"]}, routes={"done": "b"}), call("t"), work("b"))
    assert found.edges["a"] == {"done": "b"}


def test_routes_of_a_tool_count_as_routes_of_the_file() -> None:
    """A step is off the spine only when *no* route names it, whoever's route it is."""
    found = graph(agent("a", "t"), call("t", routes={"error": "u"}), call("u"))
    assert found.spine == ("a", "u")


def test_step_on_no_path_from_the_entry_is_not_reached() -> None:
    found = graph(work("a", default=END), work("b"), work("c"))
    assert found.reachable == {"a"}


def test_fail_step_without_a_route_is_an_end() -> None:
    found = graph(work("a", default="stop"), {"id": "stop", "kind": "Functional", "runner": "fail", "message": "no"})
    assert found.reaches_end == {"a", "stop"}


def test_that_a_step_may_fail_is_no_way_out() -> None:
    assert graph(work("a", default="b"), work("b", default="a")).reaches_end == frozenset()


def test_node_with_unknown_signals_may_take_each_of_its_routes() -> None:
    custom = {"id": "a", "kind": "Functional", "runner": "choose", "routes": {"default": "a", "done": END}}
    assert graph(custom).reaches_end == {"a"}
    declared = Project(nodes=Nodes({"choose": node("choose", "default")}))
    assert graph(custom, project=declared).reaches_end == frozenset()


def test_cycle_is_shown_at_its_shortest() -> None:
    found = graph(work("start"), work("a", default="b"), work("b", error="a", default="c"), work("c", default="a"))
    assert found.cycles == (("a", "b"),)


def test_chain_of_ten_thousand_steps_is_followed_to_its_end() -> None:
    """Fault N02: no recursion over steps."""
    found = graph(*(work(f"s{number}") for number in range(10_000)))
    assert len(found.reachable) == len(found.reaches_end) == 10_000
    assert found.cycles == ()


def test_cycle_through_ten_thousand_steps_is_one_knot_without_a_way_out() -> None:
    """Fault N02: one big circle."""
    last = 9_999
    steps = [work(f"s{number}", default=f"s{number + 1 if number < last else 0}") for number in range(last + 1)]
    found = graph(*steps)
    assert [len(cycle) for cycle in found.cycles] == [10_000]
    assert len(list(no_way_out(found))) == 1


def test_bounded_loop_is_legal() -> None:
    """Fault N02: a loop that a router leaves."""
    found = graph(work("a"), work("b"), decide("enough", END, "b"))
    assert list(no_way_out(found)) == []
    assert found.cycles == (("b", "enough"),)


def test_loop_without_an_exit_is_named_once_and_shown() -> None:
    """Fault N02: two steps that lead to each other."""
    (fault,) = no_way_out(graph(work("start"), decide("a", "b", "b"), work("b", default="a")))
    assert fault.path == ("spec", "steps", 1, "id")
    assert "a → b → a" in fault.message


def test_steps_before_a_knot_are_not_reported_with_it() -> None:
    found = graph(work("start"), work("a", default="b"), work("b", default="a"))
    assert [fault.path[2] for fault in no_way_out(found)] == [1]


def test_knot_that_no_run_can_enter_is_not_reported() -> None:
    found = graph(work("start", default=END), work("a", default="b"), work("b", default="a"))
    assert list(no_way_out(found)) == []


def test_mistakes_reported_elsewhere_do_not_count_as_no_way_out() -> None:
    assert list(no_way_out(graph(work("a", default="nowhere")))) == []
    unrouted = agent("a", "t", outcome={"enum": ["done"]})
    assert list(no_way_out(graph(unrouted, call("t")))) == []


@pytest.mark.parametrize(
    "steps",
    [None, "x", [None, 1, "a"], [{}], [{"id": 5, "routes": [1]}, {"id": "a", "routes": {"default": 1}}]],
    ids=["none", "text", "scalars", "empty", "types"],
)
def test_broken_files_have_a_graph_too(steps: object) -> None:
    found = route_graph(WorkflowView({"spec": {"steps": steps}}), Project())
    assert set(found.edges) == set(found.spine)
    assert found.reachable <= set(found.spine)
