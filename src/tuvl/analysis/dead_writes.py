"""Writes that nothing reads: on every way the key is written again first."""

from collections.abc import Iterator

from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.key_reads import key_reads
from tuvl.analysis.signals import FAILURES
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import StepView
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True)
class _Writing:
    """A step of the spine, and the ways it leaves by that write one key."""

    step: StepView
    edges: tuple[Edge, ...]


def dead_writes(flow: KeyFlow, project: Surroundings) -> Iterator[Fault]:
    """Keys that a step writes and another overwrites before anything can have read them."""
    graph = flow.graph
    wanted = _wanted_after(graph, project)
    if wanted is None:
        return
    for place in graph.places:
        if place.called or place.step.kind not in ("Functional", "APICall", "MCP", "ModelOp", "Workflow", "ForEach"):
            continue
        done = [edge for edge in graph.edges[place.index] if edge.signal and edge.signal not in FAILURES]
        written = done[0].sure if done else 0
        for edge in done:
            written &= edge.sure & ~(wanted[edge.target] if wanted[edge.target] is not None else ALL)
        if written in (0, ALL):
            continue
        for name in graph.keys.listed(written):
            if not name.startswith("_"):
                yield _fault(place.step, name)


def _wanted_after(graph: FlowGraph, project: Surroundings) -> list[int] | None:
    """Place → keys that may be read from there on before they are written anew; at an end all are."""
    reads = [ALL if place.reads_all else graph.keys.bits({read.key for read in place.reads}) for place in graph.places]
    reads.append(ALL)
    always = _read_at_any_time(graph, project)
    starts = {place: keys | always for place, keys in enumerate(reads)}

    def back(edge: Edge, wanted: int) -> int:
        return wanted & ~(edge.sure if edge.sure != ALL and edge.signal else 0)

    found = spread(graph, starts, back, backwards=True)
    return None if found is None else [keys if keys is not None else ALL for keys in found]


def _read_at_any_time(graph: FlowGraph, project: Surroundings) -> int:
    """Keys that the targets of hooks read: they run whenever their hook fires."""
    united = 0
    for reference in graph.routes.references:
        step = graph.routes.steps.get(reference.target)
        if reference.role == "hook target" and step is not None:
            united |= graph.keys.bits({read.key for read in key_reads(step, project)})
    return united


def _fault(step: StepView, name: str) -> Fault:
    return Fault(
        _place(step, name),
        f"step {step.id!r} writes {name!r}, which is written again before anything reads it",
        "remove the write, or give one of the two another key",
    )


def _place(step: StepView, name: str) -> KeyPath:
    match step.kind:
        case "Functional":
            return (*step.path, "values", name) if step.data.get("runner") == "set" else (*step.path, "runner")
        case "APICall" | "MCP":
            return (*step.path, "response")
        case "ModelOp":
            return (*step.path, "output")
        case _:
            return (*step.path, "output_key")
