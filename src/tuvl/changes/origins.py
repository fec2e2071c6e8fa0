"""The origins of values in one state of a workflow: what decides, what was asked about, and what is written."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.changes.deeds import deeds_of
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.producers import Part, Producers, called_by
from tuvl.changes.provenance import MADE, Asked, Effort, Link, Links, Provenance, keys_of
from tuvl.changes.shown_to_person import is_shown
from tuvl.values import canonical


class Origins:
    """The origins of values in one state of a workflow; `inside` says what the workflows that steps run do and give."""

    def __init__(
        self, facts: WorkflowFacts, inside: Callable[[StepView, Part], str], effort: Effort, peer: WorkflowFacts | None
    ) -> None:
        """Look at one state; `peer` is the same workflow in the other, if it is there."""
        self.facts = facts
        self._inside = inside
        self._effort = effort
        self._peer = peer

    @cached_property
    def provenance(self) -> Provenance:
        """The flow of values."""
        if self._peer is None:
            return Provenance(self.facts, self._inside, self._effort)
        peer = self._peer
        told = {step.id: keys_of(tuple(key_reads(step, peer.index))) for step in peer.view.steps}
        acting = frozenset(step.id for step in self.facts.view.steps if _acts(self.facts, step))
        acting &= frozenset(step.id for step in peer.view.steps if _acts(peer, step))
        return Provenance(self.facts, self._inside, self._effort, acting=acting, told=told)

    def words(self) -> str:
        """All that bears on values, as it is written: where it is the same, nothing needs to be followed."""
        view, producers = self.facts.view, Producers(self.facts, self._inside)
        codes = [producers.code(text(step.data.get("runner")) or "") for step in view.steps]
        return "\n".join((canonical([view.spec.get("steps"), view.spec.get("output")]), *codes))

    def does(self) -> Links:
        """What the workflow does outside, and what decides on that."""
        found: set[Link] = set()
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
                    said = canonical([self.provenance.producers.decided(view), routes])
                    found.add((step, MADE, said))
        return frozenset(found)

    def gives(self) -> Links:
        """What the workflow gives back."""
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

    def shown(self, name: str, key: str) -> Links:
        """What one of the values that a person is shown comes from."""
        place = self.place_of(name)
        return frozenset() if place is None else self.provenance.links(name, place, frozenset({key}))

    def _asks(self, step: StepView) -> bool:
        if step.kind != "Workflow":
            return step.kind == "HumanInTheLoop"
        callees = self.facts.callees
        behind = (callees.facts(name) for name in callees.reached(text(step.data.get("workflow")) or ""))
        return any(each.kind == "HumanInTheLoop" for facts in behind if facts is not None for each in facts.view.steps)


def _acts(facts: WorkflowFacts, step: StepView) -> bool:
    return bool(deeds_of(facts, step)) and step.kind not in ("Agent", "HumanInTheLoop")


def _is_looked_at(step: StepView, read: KeyRead) -> bool:
    """Whether a person is shown what a step reads, or may be by the workflow that it runs."""
    return is_shown(step, read) if step.kind == "HumanInTheLoop" else not _is_aside(step, read.place)


def _is_aside(step: StepView, place: tuple[str | int, ...]) -> bool:
    """Whether a read is of what a step neither sends nor shows."""
    return place[len(step.path) : len(step.path) + 1] in (("idempotency_key",), ("auth",))
