"""Where the values that a step reads may come from: which steps make them, out of which others, back to the input.

A set of definitions (a step and a key that it writes) is one whole number, a bit each, carried along the flow of the
workflow. What a value comes from is a set of links: who reads which key, and who may have made it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from tuvl.analysis.context import input_keys
from tuvl.analysis.flow_graph import ALL, Edge, FlowGraph, Place, flow_graph
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.parameters import tool_uses, writing_tools
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.spread import spread
from tuvl.analysis.steps import StepView, text
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.producers import Part, Producers, called_by, items_of
from tuvl.changes.shown_to_person import is_shown
from tuvl.dataclass import dataclass
from tuvl.values import canonical

Link: TypeAlias = tuple[str, str, str]
"""Who reads, which key, and who made it; or how one makes it."""
Links: TypeAlias = frozenset[Link]
States: TypeAlias = list[int | None]
_Read: TypeAlias = tuple[str, int, str, bool]
"""Who reads, in which place, which key, and whether only what came since somebody was asked counts."""
_Ask: TypeAlias = Callable[[str, int, frozenset[str], bool], None]

INPUT, SEEN, BEFORE = "the input", "what was looked at", "what came before"
MADE = "\0made"
"""Stands in place of a key where a link says how a value is made."""
_ANY = "\0any"
_BEFORE, _SEEN = -1, -2
"""In place of a step: what was there at the beginning, and what somebody was asked about."""
MOST = 60_000
"""Reads that are followed in one comparison of two workflows before it goes on loosely."""
_EDGES_A_READ = 10
"""Edges that take as long to walk as a read takes to follow."""


class TangledError(Exception):
    """Too much is read in too many places for values to be followed from place to place."""


@dataclass(slots=True)
class Effort:
    """How much more may be followed; shared by both states, so that both are followed in the same way.

    Loosely means by keys alone: whoever writes a key anywhere may have made it.
    """

    left: int = MOST
    loose: bool = False


@dataclass(frozen=True)
class Asked:
    """A person or a router that has looked at some keys, from where on values are followed; or the beginning.

    `others` are the persons who look at keys on the way: place → keys.
    """

    place: int
    seen: frozenset[str]
    others: Mapping[int, frozenset[str]]


class Provenance:
    """The origins of values in one state of a workflow."""

    def __init__(
        self,
        facts: WorkflowFacts,
        inside: Callable[[StepView, Part], str],
        effort: Effort,
        *,
        acting: frozenset[str] | None = None,
        told: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """Lay out the flow; `told` are the keys that agents are given in both states: what else they are is told."""
        self.facts = facts
        self.effort = effort
        self.producers = Producers(facts, inside, acting)
        self._told = told or {}
        self._made: dict[tuple[str, str, bool], str] = {}
        self._since: dict[tuple[int, frozenset[str]], States | None] = {}
        self._loose: dict[str, Links] = {}
        self._reads: dict[
            tuple[_Read, tuple[int, frozenset[str]] | None], tuple[frozenset[Link], frozenset[_Read]]
        ] = {}
        self._ahead: dict[int, frozenset[int]] = {}
        self.graph: FlowGraph = flow_graph(facts.graph, facts.index)
        self.at = {(place.step.id, place.called): place.index for place in self.graph.places}
        self._definitions: list[tuple[int, str]] = []
        self._bits: dict[tuple[int, str], int] = {}
        self._masks: dict[str, int] = {}
        self._effects: dict[tuple[int, int, int, bool], tuple[int, int]] = {}
        read = {each.key for place in self.graph.places for each in place.reads}
        output = text(facts.view.spec.get("output"))
        self._names = frozenset((*self.graph.keys.names, *read, *([output.split(".")[0]] if output else ())))
        self._names |= input_keys(facts.view).known
        self._origin = 0
        for name in sorted(self._names):
            self._origin |= self._bit(_BEFORE, name)
            self._bit(_SEEN, name)
        for edges in self.graph.edges:
            for edge in edges:
                self._effect(edge)

    @cached_property
    def written(self) -> frozenset[str]:
        """All keys that may be in the context at the end, those of the engine apart."""
        return frozenset(name for name in self._names if not name.startswith("_") and "\0" not in name)

    def _bit(self, place: int, key: str) -> int:
        found = self._bits.get((place, key))
        if found is None:
            found = self._bits[place, key] = 1 << len(self._definitions)
            self._definitions.append((place, key))
            self._masks[key] = self._masks.get(key, 0) | found
        return found

    def _effect(self, edge: Edge) -> tuple[int, int]:
        """Definitions that an edge ends, as the keys of which it does, and those that it brings."""
        key = (edge.source, edge.sure, edge.maybe, edge.more)
        found = self._effects.get(key)
        if found is None:
            sure = max(edge.sure, 0)
            brings = 0
            for name in self.graph.keys.listed(sure | edge.maybe):
                brings |= self._bit(edge.source, name)
            if edge.more or edge.sure == ALL:
                brings |= self._bit(edge.source, _ANY)
            found = self._effects[key] = (sure, brings)
        return found

    def _along(self, edge: Edge, state: int) -> int:
        sure, brings = self._effect(edge)
        for name in self.graph.keys.listed(sure):
            state &= ~self._masks.get(name, 0)
        return state | brings

    @cached_property
    def states(self) -> States | None:
        """Place → what may have been written last, from the beginning on; `None` when it is too tangled to tell."""
        return spread(self.graph, {0: self._origin}, self._along) if self.graph.places else None

    def is_reached(self, place: int) -> bool:
        """Whether a run can come to a place."""
        return place == 0 or self.leads(0, place)

    def since(self, asked: Asked) -> States | None:
        """Place → what may have been written last since somebody was asked."""
        key = (asked.place, asked.seen)
        if key not in self._since:
            self._spend()
            self._since[key] = self._follow(asked)
        return self._since[key]

    def _spend(self) -> None:
        """Count a walk over the whole flow."""
        self.effort.left -= sum(map(len, self.graph.edges)) // _EDGES_A_READ
        if self.effort.left < 0:
            raise TangledError

    def answered(self, edge: Edge) -> bool:
        """Whether a person has decided where a run goes along an edge: has seen what there was."""
        step = self.graph.places[edge.source].step
        return bool(edge.signal) and self.facts.unanswered.has_decided(step, edge.signal)

    def _follow(self, asked: Asked) -> States | None:
        others = {place: seen for place, seen in asked.others.items() if place != asked.place or not asked.seen}

        def along(edge: Edge, state: int) -> int:
            if edge.source in others and self.answered(edge):
                state = self._looked_at(state, others[edge.source])
            return self._along(edge, state)

        return spread(self.graph, {asked.place: self._looked_at(self._origin, asked.seen)}, along)

    def _looked_at(self, state: int, keys: frozenset[str]) -> int:
        for key in keys:
            state = state & ~self._masks.get(key, 0) | self._bits.get((_SEEN, key), 0)
        return state

    # ---- links -------------------------------------------------------------------------------------------------

    def links(self, reader: str, place: int, keys: frozenset[str], asked: Asked | None = None) -> Links:
        """What the values of keys at a place come from; of those that somebody was `asked` about since then."""
        if self.effort.loose:
            return self._loosely(keys)
        self.effort.left -= 1
        begun = self.states
        since = self.since(asked) if asked is not None else begun
        if begun is None or since is None:
            raise TangledError
        found: set[Link] = set()
        waiting: list[_Read] = [(reader, place, key, asked is not None) for key in sorted(keys)]
        seen = set(waiting)
        while waiting:
            read = waiting.pop()
            self.effort.left -= 1
            if self.effort.left < 0:
                raise TangledError
            own, more = self._behind(read, since if read[3] else begun, asked if read[3] else None)
            found |= own
            new = more - seen
            seen |= new
            waiting.extend(new)
        return frozenset(found)

    def _behind(self, read: _Read, states: States, asked: Asked | None) -> tuple[frozenset[Link], frozenset[_Read]]:
        """What is to be said of one read, and what was read for its value in turn."""
        known = (read, (asked.place, asked.seen) if asked is not None else None)
        if known not in self._reads:
            who, where, key, cut = read
            more: set[_Read] = set()

            def ask(who: str, where: int, keys: frozenset[str], cut: bool) -> None:
                more.update((who, where, each, cut) for each in keys)

            found: set[Link] = set()
            state = (states[where] or 0) & (self._masks.get(key, 0) | self._masks.get(_ANY, 0))
            for number in _numbers(state):
                found |= self._maker(who, key, self._definitions[number], ask, asked)
            if state & (state - 1):
                found |= self._chosen(who, where, key, ask, cut=cut)
            self._reads[known] = (frozenset(found), frozenset(more))
        return self._reads[known]

    def _maker(self, who: str, key: str, definition: tuple[int, str], ask: _Ask, asked: Asked | None) -> set[Link]:
        """What is to be said of one origin, asking for those that it has in turn."""
        source, name = definition
        if source == _SEEN:
            return {(who, key, SEEN)}
        if source == _BEFORE:
            if asked is not None:
                ask(BEFORE, asked.place, frozenset({key}), False)
            return {(who, key, INPUT if asked is None else BEFORE)}
        step = self.graph.places[source].step
        made = f"step {step.id!r}"
        for inner, reads in self._made_of(source, name, key):
            ask(made, inner, reads, asked is not None)
        return {(who, key, made), (f"{made} makes {name!r}", MADE, self._how(step, name))}

    def _how(self, step: StepView, key: str) -> str:
        known = (step.id, key, self.effort.loose)
        if known not in self._made:
            self._made[known] = self.producers.made(step, key)
        return self._made[known]

    def _loosely(self, keys: frozenset[str]) -> Links:
        for key in keys - self._loose.keys():
            self._loose[key] = frozenset(self._by_key(key))
        return frozenset[Link]().union(*(self._loose[key] for key in keys))

    def _by_key(self, first: str) -> Iterator[Link]:
        """Who may have made a key, and the keys behind it; who reads it there makes no difference."""
        waiting = [first]
        seen = set(waiting)
        while waiting:
            key = waiting.pop()
            for number in _numbers(self._masks.get(key, 0) | self._masks.get(_ANY, 0)):
                source, name = self._definitions[number]
                if source < 0:
                    continue
                step = self.graph.places[source].step
                made = f"step {step.id!r}"
                yield "", key, made
                yield f"{made} makes {name!r}", MADE, self._how(step, name)
                more = {each for _, reads in self._made_of(source, name, key) for each in reads} - seen
                seen |= more
                waiting.extend(more)

    def leads(self, place: int, target: int) -> bool:
        """Whether some way leads from a place to another, or back to itself."""
        if place not in self._ahead:
            found: set[int] = set()
            waiting = [place]
            while waiting:
                here = waiting.pop()
                if here < self.graph.end:
                    more = {edge.target for edge in self.graph.edges[here]} - found
                    found |= more
                    waiting.extend(more)
            self._ahead[place] = frozenset(found)
        return target in self._ahead[place]

    def _made_of(self, place: int, key: str, wanted: str) -> Iterator[tuple[int, frozenset[str]]]:
        """Places and the keys read there, of which a step makes a key."""
        step = self.graph.places[place].step
        if key.startswith("_"):
            return
        if step.kind == "Functional":
            yield place, self._read_by_node(self.graph.places[place], key)
            return
        if step.kind == "Agent":
            # What a model gives a tool is looked at with the call, and what it is asked is told as that.
            reads = keys_of(self.graph.places[place].reads) & self._told.get(step.id, frozenset())
            yield place, frozenset() if key in self._arguments(step) else reads
            for use in writing_tools(step, self.facts.view):
                called = self.at.get((use.step.id, True))
                if called is not None:
                    yield called, keys_of(self.graph.places[called].reads)
            return
        if step.kind == "HumanInTheLoop":
            # An answer is not made of what is shown: where that is another, it is told of the question.
            yield place, keys_of(tuple(read for read in self.graph.places[place].reads if not is_shown(step, read)))
            return
        yield place, keys_of(self.graph.places[place].reads)
        for each in called_by(step, self.facts) if step.kind == "ForEach" and key not in items_of(step) else ():
            called = self.at.get((each.id, True))
            if called is not None:
                yield called, keys_of(self.graph.places[called].reads)

    def _arguments(self, step: StepView) -> frozenset[str]:
        return frozenset({"args", *(name for use in tool_uses(step, self.facts.view) for name in use.names)})

    def _read_by_node(self, place: Place, key: str) -> frozenset[str]:
        runner = text(place.step.data.get("runner")) or ""
        if runner == "set":
            above = (*place.step.path, "values", key)
            return keys_of(tuple(read for read in place.reads if read.place[: len(above)] == above))
        reads = keys_of(place.reads)
        if place.reads_all and runner not in BUILT_IN_NODES:
            # Whatever it reads by name stands in its code.
            reads |= {name for name in self._names if "\0" not in name and self.producers.mentions(runner, name)}
        return reads

    # ---- decisions that choose among origins -------------------------------------------------------------------

    @cached_property
    def _choices(self) -> dict[tuple[int, str], tuple[tuple[Place, str], ...]]:
        return {}

    def _chosen(self, who: str, place: int, key: str, ask: _Ask, *, cut: bool) -> set[Link]:
        """The decisions that choose which of several origins a value has."""
        found: set[Link] = set()
        for decider, how in self._decisions(place, key):
            said = f"decision {decider.step.id!r}"
            found |= {(who, key, said), (f"step {decider.step.id!r} chooses {key!r}", MADE, how)}
            if decider.step.kind == "Router":
                found.add((f"step {decider.step.id!r} decides", MADE, self._decided(decider.step)))
                ask(said, decider.index, keys_of(decider.reads), cut)
        return found

    def _decided(self, step: StepView) -> str:
        known = (step.id, MADE, self.effort.loose)
        if known not in self._made:
            self._made[known] = self.producers.decided(step)
        return self._made[known]

    def _decisions(self, place: int, key: str) -> tuple[tuple[Place, str], ...]:
        known = self._choices.get((place, key))
        if known is None:
            self._spend()
            known = self._choices[place, key] = tuple(self._deciding(place, key))
        return known

    def _deciding(self, place: int, key: str) -> Iterator[tuple[Place, str]]:
        through, bit = 1 << len(self._definitions), self.graph.keys.known(key)

        def back(edge: Edge, ahead: int) -> int:
            if not ahead & through:
                return ahead
            own = self._effect(edge)[1] & (self._masks.get(key, 0) | self._masks.get(_ANY, 0))
            return (ahead & ~through if edge.sure != ALL and edge.sure & bit else ahead) | own

        ahead = spread(self.graph, {place: through}, back, backwards=True)
        if ahead is None:
            return
        for source, edges in enumerate(self.graph.edges):
            ways: dict[str, int] = {}
            for edge in edges:
                beyond = ahead[edge.target]
                if edge.signal and beyond is not None:
                    ways[edge.signal] = back(edge, beyond)
            if len(set(ways.values())) > 1:
                said = {signal: sorted(self._called(mask & (through - 1))) for signal, mask in ways.items()}
                yield self.graph.places[source], canonical(said)  # type: ignore[arg-type]  # names

    def _called(self, mask: int) -> set[str]:
        places = {self._definitions[number][0] for number in _numbers(mask)}
        return {INPUT if place < 0 else self.graph.places[place].step.id for place in places}


def keys_of(reads: tuple[KeyRead, ...]) -> frozenset[str]:
    """The context keys of reads."""
    return frozenset(read.key for read in reads)


def _numbers(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
