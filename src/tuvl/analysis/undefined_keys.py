"""Reads of context keys that are not there: on no way to the step, or not on every way."""

from collections.abc import Iterator

from tuvl.analysis.flow_graph import Edge, Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.known_values import KnownValues
from tuvl.analysis.signals import ABORTED
from tuvl.analysis.steps import mapping
from tuvl.analysis.witness import shortest, shown
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT
from tuvl.suggest import closest
from tuvl.values import KeyPath

MOST_WAYS = 50
"""Findings of one workflow for which a way is looked for; each look goes through all steps."""

_AROUND = frozenset({"args"})
_PUBLIC_ONLY = "agent.context_injection"
"""The list of keys in which those of the engine do not count: what it names goes to a model."""


@dataclass(frozen=True, slots=True)
class UndefinedKey:
    """One read that finds nothing."""

    place: KeyPath
    message: str
    hint: str
    certain: bool
    """Whether it fails every run that comes there."""


def undefined_keys(flow: KeyFlow) -> list[UndefinedKey]:
    """Every step's reads of keys that may be missing, each key once a step."""
    found: list[UndefinedKey] = []
    told: set[tuple[KeyPath, str]] = set()
    places = sorted(flow.graph.places, key=lambda place: (place.step.index, place.called))
    for place in places:
        for undefined in _never_delivered(place):
            if (undefined.place, place.step.id) not in told:
                told.add((undefined.place, place.step.id))
                found.append(undefined)
        wanted = {read.key for read in place.reads if read.need != "never"}
        lacking = flow.lacks(place.index, flow.graph.keys.bits(wanted))
        if not lacking:
            continue
        for read in _first_reads(place):
            if flow.graph.keys.bit(read.key) & lacking and (read.place, read.key) not in told:
                finding = _judge(read, place, flow, ways_left=MOST_WAYS - len(found))
                if finding is not None:
                    told.add((read.place, read.key))
                    found.append(finding)
    return found


def _never_delivered(place: Place) -> Iterator[UndefinedKey]:
    """Keys of the engine in the list that is filled from the public context alone."""
    for read in place.reads:
        if read.key.startswith("_") and read.field == _PUBLIC_ONLY:
            yield UndefinedKey(
                read.place,
                f"step {place.step.id!r} reads {read.key!r} in `{read.field}`, which never has keys of the engine: "
                "the model is given nothing",
                f'keep it under a name of its own first: `runner: set, values: {{ failure: "{{{{ {read.key} }}}}" }}`',
                certain=False,
            )


def _first_reads(place: Place) -> Iterator[KeyRead]:
    """For each key the read that does most harm, and of those the first."""
    chosen: dict[str, KeyRead] = {}
    for need in ("always", "sometimes", "listed"):
        for read in place.reads:
            if read.need == need:
                chosen.setdefault(read.key, read)
    yield from chosen.values()


def _judge(read: KeyRead, place: Place, flow: KeyFlow, *, ways_left: int) -> UndefinedKey | None:
    key = flow.graph.keys.bit(read.key)
    never = flow.never(place.index, key)
    reserved = read.key.startswith("_")
    if reserved and read.field == _PUBLIC_ONLY:
        return None  # told as such
    if not reserved and flow.input.is_silent_on(read.key) and not flow.written & key:
        return None  # the input may bring it, for all that is said of it
    if read.need == "listed" and (not never or flow.input.is_silent_on(read.key) or place.called):
        return None
    if place.called and (read.key in _AROUND or (never and not _is_body(place, flow))):
        return None  # arguments, and what neither a parameter nor any step supplies, are told elsewhere
    certain = read.need == "always" and flow.surely_never(place.index, read.key)
    way = flow.way_without(place.index, key) if ways_left > 0 and read.need != "listed" else None
    message = f"step {place.step.id!r} reads {read.key!r} in `{read.field}`, " + _why(read, place, flow, never=never)
    if way:
        message += f": {shown(flow.graph, way)}"
    hint = _hint(read, place, flow, never=never, guess=ways_left > 0)
    return UndefinedKey(read.place, message, hint, certain and not place.called)


def _is_body(place: Place, flow: KeyFlow) -> bool:
    """Whether a list runs the step, and no agent does."""
    roles = {each.role for each in flow.graph.routes.references if each.target == place.step.id}
    return roles == {"ForEach body"}


def _why(read: KeyRead, place: Place, flow: KeyFlow, *, never: bool) -> str:
    if read.need == "listed":
        return "which is never there: neither `spec.input` nor a step before it names it"
    if never:
        return "which nothing on the way there writes"
    if read.key in flow.input.named and not flow.written & flow.graph.keys.bit(read.key):
        return "which `spec.input` does not require"
    return "which is not written on every way there"


def _hint(read: KeyRead, place: Place, flow: KeyFlow, *, never: bool, guess: bool) -> str:
    keys = flow.graph.keys
    if never and guess:
        there = [name for name in keys.listed(flow.possible[place.index] or 0) if name.isprintable()]
        near = closest(read.key, there)
        if near is not None:
            return f"did you mean {near!r}?"
    spare = f"read it with a default: `{{{{ {read.key} | default(…) }}}}`"
    if read.need == "listed":
        return "correct the name, or remove it"
    if read.key in mapping(flow.input.schema.get("properties")):
        return f"add it to `required` of `spec.input`, or {spare}"
    if read.key.startswith("_"):
        return f"only a failure sets it; {spare}"
    if never and not flow.input.is_silent_on(read.key):
        return f"write it in an earlier step, name it in `spec.input`, or {spare}"
    return f"write it on that way too, or {spare}"


def missing_outputs(flow: KeyFlow) -> Iterator[UndefinedKey]:
    """Ends of the run at which `spec.output` is not in the context, and no Response step gave an output."""
    output = flow.graph.workflow.spec.get("output")
    if not isinstance(output, str) or not output:
        return
    end = flow.graph.end
    name = output.split(".")[0]
    key = flow.graph.keys.bit(name)
    if not flow.lacks(end, key) or (flow.input.is_silent_on(name) and not flow.written & key):
        yield from _lost_output(output, flow)
        return
    way = shortest(flow.graph, end, lambda edge: not flow.brings(edge) & key and _goes_on(edge, flow))
    if way is None:
        return
    never = flow.never(end, key)
    certain = flow.surely_never(end, name) and not _answers(flow)
    where = "at no end of the run" if never else "not at every end of the run"
    there = [known for known in flow.graph.keys.listed(flow.possible[end] or 0) if known.isprintable()]
    near = closest(name, there) if never else None
    hint = f"did you mean {near!r}?" if near else "write it before that end, or end there with a Response step"
    message = f"`spec.output` names {name!r}, which is there {where}: {shown(flow.graph, way)}"
    yield UndefinedKey(("spec", "output"), message, hint, certain)


def _lost_output(output: str, flow: KeyFlow) -> Iterator[UndefinedKey]:
    """A path of `spec.output` into a value that has no such part."""
    name, *path = output.split(".")
    known = KnownValues(flow).at(flow.graph.end, name) if path else None
    lost = known.lost((name, *path)) if known is not None else None
    if lost is not None:
        message = f"`spec.output` names {output!r}, but {lost.why}: the output is null"
        yield UndefinedKey(("spec", "output"), message, lost.hint, not _answers(flow))


def _goes_on(edge: Edge, flow: KeyFlow) -> bool:
    """Whether a run that takes the edge still looks for its output: it was neither aborted nor answered."""
    answered = flow.graph.places[edge.source].step.kind == "Response" and edge.signal == DEFAULT
    return edge.signal != ABORTED and not answered


def _answers(flow: KeyFlow) -> bool:
    return any(place.step.kind == "Response" and not place.called for place in flow.graph.places)
