"""Two states of the origins of values: what decides, what was asked about, and what is written."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

from tuvl.analysis.inside import inside
from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.changes.deeds import deeds_of
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.producers import Inside, called_by
from tuvl.changes.provenance import BEFORE, MADE, SEEN, Asked, Effort, Links, Provenance, TangledError, keys_of
from tuvl.changes.renames import StepPairs, pair_steps
from tuvl.changes.shown_to_person import is_shown
from tuvl.project.index import ProjectIndex
from tuvl.values import canonical

_DEEPEST = 8
"""Workflows inside each other that are looked into."""


class Origins:
    """The origins of values in one state; the steps of workflows inside are called as in the new one."""

    def __init__(
        self,
        facts: WorkflowFacts,
        other: ProjectIndex,
        effort: Effort,
        within: tuple[str, ...] = (),
        *,
        peer: WorkflowFacts | None = None,
        is_new: bool = False,
    ) -> None:
        """Look at one state, the new one or the old; `peer` is the same workflow in the other."""
        self.facts = facts
        self._other = other
        self._effort = effort
        self._within = within
        self._peer = peer
        self._is_new = is_new
        self._inside: dict[tuple[str, bool], Inside] = {}

    @cached_property
    def provenance(self) -> Provenance:
        """The flow of values."""
        if self._peer is None:
            return Provenance(self.facts, self._look_inside, self._effort)
        peer = self._peer
        told = {step.id: keys_of(tuple(key_reads(step, peer.index))) for step in peer.view.steps}
        acting = frozenset(step.id for step in self.facts.view.steps if _acts(self.facts, step))
        acting &= frozenset(step.id for step in peer.view.steps if _acts(peer, step))
        return Provenance(self.facts, self._look_inside, self._effort, acting=acting, told=told)

    def _look_inside(self, step: StepView) -> Inside:
        name = text(step.data.get("workflow")) or ""
        known = (name, self._effort.loose)
        if known not in self._inside:
            child = self._child(name)
            self._inside[known] = Inside() if child is None else child.summary()
        return self._inside[known]

    def _child(self, name: str) -> "Origins | None":
        document = self.facts.index.find("Workflow", name) if name else None
        if document is None or name in self._within or len(self._within) >= _DEEPEST:
            return None
        view, other = WorkflowView(mapping(document.data)), self._other.find("Workflow", name)
        peer = None
        if other is not None:
            two = (view, WorkflowView(mapping(other.data)))
            pairs = pair_steps(*(reversed(two) if self._is_new else two))
            view, beside = (pairs.new, pairs.old) if self._is_new else (pairs.old, pairs.new)
            peer = WorkflowFacts(beside, self._other)
        facts = WorkflowFacts(view, self.facts.index)
        return Origins(facts, self._other, self._effort, (*self._within, name), peer=peer, is_new=self._is_new)

    def children(self) -> Iterator["Origins"]:
        """The workflows that steps run."""
        names = [text(step.data.get("workflow")) or "" for step in self.facts.view.steps if step.kind == "Workflow"]
        for name in dict.fromkeys(names):
            child = self._child(name)
            if child is not None:
                yield child

    def words(self) -> str:
        """All that bears on values, as it is written: where it is the same, nothing needs to be followed."""
        view, producers = self.facts.view, self.provenance.producers
        codes = [producers.code(text(step.data.get("runner")) or "") for step in view.steps]
        inner = [child.words() for child in self.children()]
        written = canonical([view.spec.get("steps"), view.spec.get("output")])
        return "\n".join((written, *codes, *inner))

    def summary(self) -> Inside:
        """What the workflow does outside and what decides on that, and what it gives back."""
        found: set[tuple[str, ...]] = set()
        for step in self.facts.graph.spine:
            view = self.facts.graph.steps[step]
            if deeds_of(self.facts, view):
                found |= self.sent(view)
        if found:
            for step in self.facts.graph.spine:
                view = self.facts.graph.steps[step]
                if view.kind == "Router":
                    found |= self.decided(view)
                    routes = canonical(dict(self.facts.graph.taken(step)))
                    found.add((step, MADE, self.provenance.producers.decided(view), routes))
        return Inside(_joined(found), _joined(self._given()))

    def _given(self) -> Links:
        provenance, output = self.provenance, text(self.facts.view.spec.get("output"))
        answers = [place for place in provenance.graph.places if place.step.kind == "Response"]
        found: Links = frozenset()
        for place in answers:
            found |= provenance.links(place.step.id, place.index, keys_of(place.reads))
            said = canonical([place.step.get("source"), place.step.get("mapping")])
            found |= {(place.step.id, MADE, said)}
        if output or not answers:
            keys = frozenset({output.split(".")[0]}) if output else provenance.written
            found |= provenance.links("output", provenance.graph.end, keys) | {("output", MADE, output or "")}
        return found

    # ---- what a step reads -------------------------------------------------------------------------------------

    def place_of(self, name: str) -> int | None:
        """Where a run comes to a step of this name by a route."""
        return self.provenance.at.get((name, False))

    def read_by(self, step: StepView) -> frozenset[str]:
        """The keys that a step reads where a run comes to it."""
        place = self.place_of(step.id)
        return frozenset() if place is None else keys_of(self.provenance.graph.places[place].reads)

    def as_tool(self, step: StepView) -> Links:
        """What a step does when an agent calls it."""
        found: Links = frozenset({(step.id, MADE, self.provenance.producers.sent(step))})
        place = self.provenance.at.get((step.id, True))
        if place is not None:
            reads = self.provenance.graph.places[place].reads
            keys = keys_of(tuple(read for read in reads if not _is_aside(step, read.place)))
            found |= self.provenance.links(step.id, place, keys)
        return found

    def decided(self, step: StepView) -> Links:
        """What a router decides by."""
        place = self.place_of(step.id)
        if place is None:
            return frozenset()
        # Only its id and what it reads count, which are the same in both states.
        return self.provenance.links(step.id, place, keys_of(self.provenance.graph.places[place].reads))

    def sent(self, step: StepView, asked: Asked | None = None, only: frozenset[str] | None = None) -> Links:
        """What a step does outside: its words, and the origins of what they read; `only` of certain keys."""
        found: Links = (
            frozenset() if only is not None else frozenset({(step.id, MADE, self.provenance.producers.sent(step))})
        )
        for place, keys in self._sending(step):
            wanted = keys if only is None else keys & only
            found |= self.provenance.links(step.id, place, wanted, asked)
            if only is not None and wanted:
                found |= {(step.id, MADE, canonical(self._templates(place, wanted)))}  # type: ignore[arg-type]
        return found

    def _templates(self, place: int, keys: frozenset[str]) -> list[str]:
        """Where, and how, a step reads keys."""
        at = self.provenance.graph.places[place]
        reads = [read for read in at.reads if read.key in keys and not _is_aside(at.step, read.place)]
        found = set()
        for read in reads:
            value: object = at.step.data
            for part in read.place[len(at.step.path) :]:
                inner = items(value)[part : part + 1] if isinstance(part, int) else [mapping(value).get(part)]
                value = inner[0] if inner else None
            found.add(f"{read.field}: {canonical(value)}")  # type: ignore[arg-type]  # documents hold JSON
        return sorted(found)

    def _sending(self, step: StepView) -> Iterator[tuple[int, frozenset[str]]]:
        place = self.place_of(step.id)
        if place is not None and step.kind != "Agent":
            reads = self.provenance.graph.places[place].reads
            yield place, keys_of(tuple(read for read in reads if not _is_aside(step, read.place)))
        yield from self._calling(step, frozenset({step.id}))

    def _calling(self, step: StepView, within: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
        for called in called_by(step, self.facts):
            place = self.provenance.at.get((called.id, True))
            if place is None or called.id in within or not self.provenance.producers.counts(called):
                continue
            reads = self.provenance.graph.places[place].reads
            if called.kind != "Agent":
                yield place, keys_of(tuple(read for read in reads if not _is_aside(called, read.place)))
            yield from self._calling(called, within | {called.id})

    def persons(self) -> Mapping[str, frozenset[str]]:
        """Steps that ask a person, themselves or in the workflow they run, and the keys that the person is shown."""
        found: dict[str, frozenset[str]] = {}
        for name in self.facts.graph.spine:
            step = self.facts.graph.steps[name]
            place = self.place_of(step.id)
            if place is None or not self._asks(step):
                continue
            reads = self.provenance.graph.places[place].reads
            found[name] = keys_of(tuple(read for read in reads if _is_looked_at(step, read)))
        return found

    def _asks(self, step: StepView) -> bool:
        if step.kind != "Workflow":
            return step.kind == "HumanInTheLoop"
        views = inside(text(step.data.get("workflow")), self.facts.index) or ()
        return any(each.kind == "HumanInTheLoop" for view in views for each in view.steps)


def _acts(facts: WorkflowFacts, step: StepView) -> bool:
    return bool(deeds_of(facts, step)) and step.kind not in ("Agent", "HumanInTheLoop")


def _is_looked_at(step: StepView, read: KeyRead) -> bool:
    """Whether a person is shown what a step reads, or may be by the workflow that it runs."""
    return is_shown(step, read) if step.kind == "HumanInTheLoop" else not _is_aside(step, read.place)


def _is_aside(step: StepView, place: tuple[str | int, ...]) -> bool:
    """Whether a read is of what a step neither sends nor shows."""
    return place[len(step.path) : len(step.path) + 1] in (("idempotency_key",), ("auth",))


def _joined(links: set[tuple[str, ...]] | Links) -> str:
    return "\n".join(sorted(map(repr, links)))


class Values:
    """The origins of values in both states of a workflow."""

    def __init__(self, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts]) -> None:
        """Pair the states; they share what may be followed."""
        self.pairs = pairs
        self.effort = Effort()
        self.old = Origins(facts[0], facts[1].index, self.effort, (facts[0].view.name,), peer=facts[1])
        self.new = Origins(facts[1], facts[0].index, self.effort, (facts[1].view.name,), peer=facts[0], is_new=True)

    def both(self, links: Callable[[Origins], Links]) -> tuple[Links, Links]:
        """The links of both states, followed in the same way."""
        try:
            return links(self.old), links(self.new)
        except TangledError:
            self.effort.loose = True
            return links(self.old), links(self.new)

    @cached_property
    def are_same(self) -> bool:
        """Whether nothing that bears on values is written otherwise."""
        return self.old.words() == self.new.words()

    @cached_property
    def revalued(self) -> Mapping[str, str]:
        """Routers that decide by values that may come from elsewhere now, each with what is to be said of that."""
        if self.are_same:
            return {}
        found: dict[str, str] = {}
        for before, after in self.pairs.matched:
            # A router that reads other keys is told as one that decides otherwise.
            if before.kind == after.kind == "Router" and self.old.read_by(before) == self.new.read_by(after):
                was, now = self.both(partial(Origins.decided, step=after))
                if was != now and was and now:
                    found[after.id] = difference(was, now)
        return found


def difference(was: Links, now: Links) -> str:
    """Say what is the most telling of two sets of links."""
    come, gone = (
        sorted(links, key=lambda link: (link[1] == MADE, not link[2].startswith("step"), link))
        for links in (now - was, was - now)
    )
    makers = [f"{who} otherwise" for who, key, _ in come or gone if key == MADE and who.startswith("step ")]
    said = [_comes(key, made) for _, key, made in come if key != MADE]
    left = [_comes(key, made, gone=True) for _, key, made in gone if key != MADE]
    first = [_comes(key, made, gone=True) for _, key, made in gone[:1] if key != MADE and made.startswith("step ")]
    return next(iter((*said, *first, *makers, *left)), "it is written otherwise")


def _comes(key: str, made: str, *, gone: bool = False) -> str:
    if made in (SEEN, BEFORE):
        return f"{key!r} is no longer read" if gone else f"{key!r} is read now"
    more = "no longer " if gone else ""
    if made.startswith("decision "):
        return f"{key!r} {more}depends on what step {made.removeprefix('decision ')} decides"
    return f"{key!r} {more}comes from {made}"
