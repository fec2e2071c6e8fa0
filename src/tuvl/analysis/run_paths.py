"""How often the route graph lets steps run, and the dearest way through it.

A step outside of all cycles runs once at most, and of steps on different branches only those of one way run. Steps of
a cycle share what `max_steps` leaves; one of them comes round again no sooner than its shortest cycle is long. All of
it is linear in the size of the graph, but for the shortest cycles, which are looked for up to a number of steps.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Generic, TypeVar

from tuvl.analysis.components import closure, components
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.signals import ABORTED
from tuvl.analysis.steps import END
from tuvl.dataclass import dataclass

Worth = TypeVar("Worth")

_ABORT = "<abort>"
"""Stands before all steps that an abort leads to; no step can have this id."""

MOST_SEARCHES = 64
"""Steps of one workflow whose shortest cycle is looked for; of all others the shortest possible is assumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums(Generic[Worth]):
    """How to reckon with the worth of steps."""

    nothing: Worth
    both: Callable[[Worth, Worth], Worth]
    either: Callable[[Worth, Worth], Worth]
    best_of: Callable[[Collection[tuple[Worth, int]], int], Worth]
    """The most that so many executions in all can be worth; each worth comes with how often it may be taken."""
    smaller: Callable[[Worth, Worth], Worth]


@dataclass(frozen=True)
class RunPaths:
    """The ways of a run from one step on, aborts left out."""

    start: str
    successors: Mapping[str, tuple[str, ...]]
    max_steps: int

    @cached_property
    def steps(self) -> frozenset[str]:
        """Steps that can run."""
        return closure([self.start], self.successors)

    @cached_property
    def _inside(self) -> Mapping[str, tuple[str, ...]]:
        return {step: self.successors[step] for step in self.successors if step in self.steps}

    @cached_property
    def _knots(self) -> tuple[tuple[str, ...], ...]:
        return tuple(components(self._inside))

    @cached_property
    def _knot_of(self) -> Mapping[str, int]:
        return {step: index for index, knot in enumerate(self._knots) for step in knot}

    @property
    def has_cycles(self) -> bool:
        """Whether some step can run twice."""
        return bool(self._knots)

    @cached_property
    def _rounds(self) -> dict[str, int]:
        """Lengths of shortest cycles, as far as they have been looked for."""
        return {}

    def times(self, step: str) -> int:
        """How often a step can run."""
        if step not in self.steps:
            return 0
        index = self._knot_of.get(step)
        if index is None:
            return min(1, self.max_steps)
        length = self._rounds.get(step)
        if length is None:
            if len(self._rounds) < MOST_SEARCHES:
                length = self._rounds[step] = self._round(step)
            else:
                length = 1 if step in self._inside[step] else 2
        return -(-self.max_steps // length)

    def _round(self, step: str) -> int:
        """Length of the shortest cycle through a step, which is in its own knot."""
        waiting, seen, knot = deque([(step, 0)]), {step}, self._knot_of[step]
        while waiting:
            here, length = waiting.popleft()
            for ahead in self._inside[here]:
                if ahead == step:
                    return length + 1
                if self._knot_of.get(ahead) == knot and ahead not in seen:
                    seen.add(ahead)
                    waiting.append((ahead, length + 1))
        return 1

    def dearest(self, worth: Mapping[str, Worth], sums: Sums[Worth]) -> Worth:
        """The most that one way can be worth; steps without a worth are worth nothing."""
        worthy = [step for step in self._inside if step in worth]
        often = {step: self.times(step) for step in worthy}
        best: dict[object, Worth] = {}
        for node in self._backwards():
            ahead = sums.nothing
            members = self._knots[node] if isinstance(node, int) else (node,)
            for target in {self._node(target) for member in members for target in self._inside[member]}:
                if target != node:
                    ahead = sums.either(ahead, best[target])
            taken = [(worth[step], often[step]) for step in members if step in worth]
            own = sums.best_of(taken, self.max_steps) if taken else sums.nothing
            best[node] = sums.both(own, ahead)
        together = sums.best_of([(worth[step], often[step]) for step in worthy], self.max_steps)
        return sums.smaller(best[self._node(self.start)], together)

    def _node(self, step: str) -> "str | int":
        return self._knot_of.get(step, step)

    def _backwards(self) -> "list[str | int]":
        """Steps and knots, each after all that it leads to."""
        ahead: dict[str | int, list[str | int]] = {}
        for step, targets in self._inside.items():
            node = self._node(step)
            ahead.setdefault(node, []).extend(other for other in map(self._node, targets) if other != node)
        order: list[str | int] = []
        seen: set[str | int] = {self._node(self.start)}
        work = [(self._node(self.start), iter(ahead[self._node(self.start)]))]
        while work:
            node, waiting = work[-1]
            child = next((each for each in waiting if each not in seen), None)
            if child is None:
                order.append(node)
                work.pop()
            else:
                seen.add(child)
                work.append((child, iter(ahead[child])))
        return order


def run_paths(graph: RouteGraph, max_steps: int) -> tuple[RunPaths, ...]:
    """The ways of a run, and those of the cleanup after an abort, if any: that one has steps of its own to take."""
    if graph.entry is None:
        return ()
    onward: dict[str, tuple[str, ...]] = {}
    after_abort: dict[str, None] = {}
    for step in graph.spine:
        taken = graph.taken(step)
        onward[step] = tuple(
            dict.fromkeys(target for signal, target in taken.items() if target != END and signal != ABORTED)
        )
        if step in graph.reachable and taken.get(ABORTED, END) != END:
            after_abort[taken[ABORTED]] = None
    main = RunPaths(start=graph.entry, successors=onward, max_steps=max_steps)
    if not after_abort:
        return (main,)
    return (main, RunPaths(start=_ABORT, successors={**onward, _ABORT: tuple(after_abort)}, max_steps=max_steps))


def runs_all(graph: RouteGraph) -> bool:
    """Whether every step of the spine can run, by signals that its steps can return."""
    run = frozenset().union(*(paths.steps for paths in run_paths(graph, 1)))
    return run >= set(graph.spine)
