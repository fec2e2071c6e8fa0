"""Values that go into `secure` fields of records, and the prompts and logs that show them on the way, or after it."""

from collections.abc import Iterable, Iterator
from functools import partial

from tuvl.analysis.agent_effects import guards
from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.secret_flow import SecretFlow, Vaults, handed_in
from tuvl.analysis.secret_paths import Secret, reads_of, same, shows, written
from tuvl.analysis.spill import Path
from tuvl.analysis.steps import StepView, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.taint import injected
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath

_UNMASKED = ("system", "steering", "skills")
_HINT = "leave it out, or mask it with a `pii_mask` guardrail at `guardrails.input`"


@dataclass(frozen=True, slots=True)
class _Showing:
    """That a step shows a part of the context."""

    path: Path
    what: str
    place: KeyPath
    secret: Secret


def exposed_secrets(flow: KeyFlow, project: Surroundings) -> Iterator[Fault]:
    """Steps that show a value to a model or a log which the workflow keeps in a `secure` field."""
    vaults = Vaults(project)
    workflow = flow.graph.workflow
    if not vaults.stores(workflow):
        return
    secrets = SecretFlow(flow, vaults, (workflow.name,))
    for place in sorted(flow.graph.places, key=lambda place: (place.step.index, place.called)):
        told: set[Path] = set()
        for each in _shown(place, secrets.held[place.index], secrets, project):
            if each.path not in told:
                told.add(each.path)
                said = f"step {place.step.id!r} shows {written(each.path)!r} to {each.what}"
                yield Fault(each.place, f"{said}; its value goes into the secure {each.secret.field}", _HINT)


def _shown(place: Place, held: Iterable[Secret], flow: SecretFlow, project: Surroundings) -> Iterator[_Showing]:
    held = sorted(held)
    step = place.step
    if not held:
        return
    if step.kind == "Functional" and step.data.get("runner") == "log":
        yield from _read(place, held, "the log")
    elif step.kind == "Agent":
        masked = _masks(step, project)
        for each in _read(place, held, "a model"):
            part = each.place[len(step.path) + 1 : len(step.path) + 2]
            if part and not (masked and part[0] not in _UNMASKED):
                yield each
        if not masked:
            yield from _in_context(place, held, flow)
    elif step.kind == "Workflow":
        yield from _inside(place, held, flow, project)


def _read(place: Place, held: list[Secret], what: str) -> Iterator[_Showing]:
    for read in place.reads:
        for path in reads_of(read):
            secret = next((each for each in held if shows(path, each)), None)
            if secret is not None:
                yield _Showing(path, what, read.place, secret)


def _in_context(place: Place, held: list[Secret], flow: SecretFlow) -> Iterator[_Showing]:
    """Keys handed over whole: injected ones, and for an agent that works on its own the whole context."""
    step = place.step
    for index, name in enumerate(injected(step)):
        secret = next((each for each in held if shows((name,), each)), None)
        if secret is not None:
            yield _Showing((name,), "a model", (*step.path, "agent", "context_injection", index), secret)
    if step.mode == "autonomous":
        what = "a model (an agent that works on its own sees the whole context)"
        possible = flow.keys.possible[place.index] or 0
        for secret in held:
            key = secret.path[0]
            if secret.held != "maybe" and possible & flow.graph.keys.known(key):
                yield _Showing((key,), what, (*step.path, "id"), secret)


def _inside(place: Place, held: list[Secret], flow: SecretFlow, project: Surroundings) -> Iterator[_Showing]:
    """What the workflow that a step runs shows of what it is given, beside what it keeps itself."""
    child = flow.vaults.inner(place.step, flow.within)
    if child is None or not child.graph.places:
        return
    own = [secret.path for secret in child.held[0]]
    name = text(place.step.data.get("workflow"))
    for move in flow.given(place):
        handed = {each for each in handed_in(held, (move,)) if not any(map(partial(same, each.path), own))}
        found = child.onward({0: handed}) if handed else []
        for inner in child.graph.places if handed else ():
            for each in _shown(inner, found[inner.index], child, project):
                what = f"{each.what.partition(' (')[0]} in the workflow {name!r}"
                yield _Showing(move.source, what, (*place.step.path, "input", move.target[0]), each.secret)


def _masks(step: StepView, project: Surroundings) -> bool:
    return any(check.get("check") == "pii_mask" for guard in guards(step, "input", project) for check in guard.checks)
