"""What a run can still do from each of its steps, and what without certain others: a fixpoint on the routes."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property

from tuvl.analysis.signals import FAILURES, GUARDRAIL_VIOLATION, guarded
from tuvl.analysis.steps import END
from tuvl.changes.deeds import Deeds, deeds_of, may_ask
from tuvl.changes.facts import WorkflowFacts
from tuvl.dataclass import dataclass

NOBODY: frozenset[str] = frozenset()


def bits_of(names: Iterable[str]) -> Mapping[str, int]:
    """Give each id a bit of its own; the first ones are told first."""
    return {name: 1 << number for number, name in enumerate(names)}


@dataclass
class Reach:
    """The deeds of one state of a workflow that lie ahead of each step, as bits."""

    facts: WorkflowFacts
    bits: Mapping[str, int] = field(default_factory=dict)
    """Id of a step that acts → its bit; others are passed over."""
    _known: dict[tuple[frozenset[str], bool, bool], Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def deeds(self) -> Mapping[str, Deeds]:
        """What each step of the spine does."""
        return {name: deeds_of(self.facts, self.facts.graph.steps[name]) for name in self.facts.graph.spine}

    @cached_property
    def successors(self) -> Mapping[str, tuple[str, ...]]:
        """Step → steps that a signal which it can return leads to."""
        graph = self.facts.graph
        return {
            name: tuple(dict.fromkeys(target for target in graph.taken(name).values() if target != END))
            for name in graph.spine
        }

    @cached_property
    def unanswered(self) -> Mapping[str, tuple[str, ...]]:
        """The same by signals of which none means that a person has decided."""
        graph, look = self.facts.graph, self.facts.unanswered
        return {
            name: tuple(
                dict.fromkeys(
                    target
                    for signal, target in graph.taken(name).items()
                    if target != END and not look.has_decided(graph.steps[name], signal)
                )
            )
            for name in graph.spine
        }

    @cached_property
    def _sources(self) -> Mapping[str, list[str]]:
        return self._turned(self.successors)

    @cached_property
    def _unanswered_sources(self) -> Mapping[str, list[str]]:
        return self._turned(self.unanswered)

    def _turned(self, successors: Mapping[str, tuple[str, ...]]) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.facts.graph.spine}
        for name, targets in successors.items():
            for target in targets:
                found.setdefault(target, []).append(name)
        return found

    @cached_property
    def persons(self) -> frozenset[str]:
        """Steps that ask a person."""
        return frozenset(name for name in self.facts.graph.spine if self._kind(name) == "HumanInTheLoop")

    @cached_property
    def guards(self) -> frozenset[str]:
        """Agents with guardrails."""
        return frozenset(name for name in self.facts.graph.spine if guarded(self.facts.graph.steps[name]))

    @cached_property
    def askers(self) -> frozenset[str]:
        """Agents with tools before which a person may be asked."""
        return frozenset(name for name in self.facts.graph.spine if may_ask(self.facts, self.facts.graph.steps[name]))

    @cached_property
    def deciders(self) -> frozenset[str]:
        """Steps that lead to several places by what they decide."""
        return frozenset(name for name in self.facts.graph.spine if len(set(self.decided(name).values())) > 1)

    def decided(self, name: str) -> Mapping[str, str]:
        """Where the decisions of a step lead, failures aside."""
        taken = self.facts.graph.taken(name)
        return {
            signal: target
            for signal, target in taken.items()
            if signal not in FAILURES or signal == GUARDRAIL_VIOLATION
        }

    def _kind(self, name: str) -> str | None:
        return self.facts.graph.steps[name].kind

    def ahead(
        self, step: str | None, without: frozenset[str] = NOBODY, *, asked: bool = True, answered: bool = True
    ) -> int:
        """Deeds that can follow from a step on, itself included, when a run comes by none of `without`.

        Those before which a person is asked for approval count with `asked` only, and those that come after an answer
        of a person with `answered` only.
        """
        return 0 if step is None else self._masks(without, asked, answered).get(step, 0)

    def _masks(self, without: frozenset[str], asked: bool, answered: bool) -> Mapping[str, int]:
        key = (without, asked, answered)
        if key not in self._known:
            sources = self._sources if answered else self._unanswered_sources
            masks = {name: self._own(name, asked) for name in self.facts.graph.spine if name not in without}
            waiting = deque(name for name, mask in masks.items() if mask)
            while waiting:
                name = waiting.popleft()
                for source in sources[name]:
                    if source in masks and masks[name] & ~masks[source]:
                        masks[source] |= masks[name]
                        waiting.append(source)
            self._known[key] = masks
        return self._known[key]

    def _own(self, name: str, asked: bool) -> int:
        mask = 0
        for deed, how in self.deeds[name].items():
            if asked or not how.asked:
                mask |= self.bits.get(deed, 0)
        return mask

    def decides(self, name: str) -> int:
        """Deeds that depend on which way a step decides."""
        if name not in self.facts.graph.signals:
            return 0
        found = 0
        for without, asked in ((NOBODY, True), (self.persons, False)):
            masks = [self.ahead(target, without, asked=asked) for target in self.decided(name).values()]
            if masks:
                every, some = masks[0], 0
                for mask in masks:
                    every, some = every & mask, some | mask
                found |= some & ~every
        return found

    def way(
        self, step: str | None, deed: str, without: frozenset[str], *, asked: bool, answered: bool = True
    ) -> list[str] | None:
        """The shortest way from a step to one that does a deed; `None` where there is none."""
        if step is None or step in without or step not in self.successors:
            return None
        came: dict[str, str | None] = {step: None}
        waiting = deque([step])
        while waiting:
            name = waiting.popleft()
            how = self.deeds[name].get(deed)
            if how is not None and (asked or not how.asked):
                return self._back(came, name)
            for target in (self.successors if answered else self.unanswered)[name]:
                if target not in came and target not in without:
                    came[target] = name
                    waiting.append(target)
        return None

    @staticmethod
    def _back(came: Mapping[str, str | None], name: str) -> list[str]:
        found: list[str] = []
        at: str | None = name
        while at is not None:
            found.append(at)
            at = came[at]
        return found[::-1]
