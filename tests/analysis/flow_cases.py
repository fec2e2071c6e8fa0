"""Small workflows without cycles, made up by hypothesis, and what their ways give when all of them are walked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.key_flow import KeyFlow, key_flow
from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.surroundings import ALONE

KEYS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Case:
    """One workflow, and its flow."""

    data: dict[str, Any]

    @property
    def graph(self) -> RouteGraph:
        return route_graph(WorkflowView(self.data), ALONE)

    @property
    def flow(self) -> KeyFlow:
        found = key_flow(self.graph, ALONE)
        assert found is not None
        return found


@st.composite
def workflows(draw: st.DrawFn, *, cycles: bool = False, fail: bool = False) -> Case:
    """Up to eight steps that set, compare and fail, routed at random; with `spec.input` closed."""
    count = draw(st.integers(1, 8))
    names = [f"s{index}" for index in range(count)]
    steps = [draw(_step(index, names, cycles=cycles, fail=fail)) for index in range(count)]
    given_keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4))
    required = [key for key in given_keys if draw(st.integers(0, 3))]
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": {key: {"type": "string"} for key in given_keys},
    }
    spec: dict[str, Any] = {"input": schema, "limits": {"max_steps": 40}, "steps": steps}
    if draw(st.booleans()):
        spec["output"] = draw(st.sampled_from(KEYS))
    return Case({"kind": "Workflow", "metadata": {"name": "made-up"}, "spec": spec})


@st.composite
def _step(draw: st.DrawFn, index: int, names: list[str], *, cycles: bool, fail: bool) -> dict[str, Any]:
    later = names if cycles else names[index + 1 :]
    target = st.sampled_from([*later, "END"])
    routes: dict[str, str] = {}
    for signal in ("default", "error"):
        if draw(st.booleans()):
            routes[signal] = draw(target)
    step: dict[str, Any] = {"id": names[index], "kind": "Functional"}
    match draw(st.sampled_from(["set", "when", "fail"] if fail else ["set", "when"])):
        case "set":
            written = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=2))
            step |= {"runner": "set", "values": {key: draw(_template()) for key in written}}
        case "fail":
            step |= {"runner": "fail", "message": draw(_template())}
        case _:
            routes["x"] = draw(target)
            test = draw(st.sampled_from(KEYS))
            step |= {"kind": "Router", "when": [{"if": f"{{{{ {test} == 'x' }}}}", "signal": "x"}]}
    if routes:
        step["routes"] = routes
    return step


@st.composite
def _template(draw: st.DrawFn) -> str:
    key, other = draw(st.sampled_from(KEYS)), draw(st.sampled_from(KEYS))
    return draw(
        st.sampled_from(
            [
                "x",
                f"{{{{ {key} }}}}",
                f"{{{{ {key} | default('y') }}}}",
                f"{{% if {key} == 'x' %}}{{{{ {other} }}}}{{% endif %}}",
                f"{{{{ {other} if {key} is defined else 'z' }}}}",
            ]
        )
    )


def ways(flow: KeyFlow) -> Iterator[tuple[int, frozenset[str], frozenset[str]]]:
    """Walk every way from the entry: the place it leads to, keys surely there, keys possibly there."""
    keys = flow.graph.keys
    required = frozenset(flow.input.schema["required"])
    possible = frozenset(flow.input.schema["properties"])
    waiting = [(0, required, possible)]
    while waiting:
        place, sure, maybe = waiting.pop()
        yield place, sure, maybe
        for edge in flow.graph.edges[place] if place < flow.graph.end else ():
            sure_on_edge = frozenset(keys.listed(flow.brings(edge)))
            written = frozenset(keys.listed(edge.sure | edge.maybe))
            waiting.append((edge.target, sure | sure_on_edge, maybe | written))
