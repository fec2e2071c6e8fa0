"""Whether a step changes anything outside the run."""

from typing import Any

import pytest

from tests.analysis.workflows import Nodes, Project, agent, call, decide, work, workflow
from tuvl.analysis.effects import effects_of
from tuvl.analysis.nodes import NodeFacts


def effects(step: dict[str, Any], project: Project | None = None) -> str:
    return effects_of(workflow(step).steps[0], project or Project())


@pytest.mark.parametrize(
    ("step", "effect"),
    [
        (call("a"), "read"),
        (call("a", http={"url": "https://shop.example/", "method": "HEAD"}), "read"),
        (call("a", http={"url": "https://shop.example/", "method": "POST"}), "write"),
        (call("a", effects="write"), "write"),
        (call("a", http={"url": "https://shop.example/", "method": "POST"}, effects="read"), "read"),
        ({"id": "a", "kind": "ModelOp", "operation": "list"}, "read"),
        ({"id": "a", "kind": "ModelOp", "operation": "delete"}, "write"),
        (decide("a", "b", "c"), "read"),
        ({"id": "a", "kind": "Response", "source": "x"}, "read"),
        ({"id": "a", "kind": "MCP"}, "write"),
        (work("a"), "write"),
        (agent("a", "t"), "write"),
        ({"id": "a"}, "write"),
        (call("a", effects="sometimes"), "read"),
    ],
)
def test_effects_are_declared_or_follow_from_the_kind(step: dict[str, Any], effect: str) -> None:
    assert effects(step) == effect


def test_node_may_say_that_it_only_reads() -> None:
    reader = NodeFacts(name="price", file="nodes/a.py", line=1, effects="read")
    step = {"id": "a", "kind": "Functional", "runner": "price"}
    assert effects(step, Project(nodes=Nodes({"price": reader}))) == "read"
    assert effects(step) == "write"
