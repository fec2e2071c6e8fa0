"""Which context keys a step reads, where it says so, and what becomes of it when a key is not there."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.templates import rendered_sites
from tuvl.dataclass import dataclass
from tuvl.templating.scan import scan
from tuvl.values import KeyPath

Need: TypeAlias = Literal["always", "sometimes", "listed", "never"]
"""When a missing key does harm: whenever the step runs, when a condition comes to it, by not being delivered, never."""

_LENIENT_OPERATORS = ("is_empty", "is_not_empty")
_PROSE = ("system", "prompt", "steering")


@dataclass(frozen=True, slots=True)
class KeyRead:
    """One read of a context key."""

    path: tuple[str, ...]
    """The dotted path, the key first."""
    place: KeyPath
    field: str
    """How the step calls the place, e.g. `http.url`."""
    need: Need
    shown: bool = False
    """Whether something of the value can stand in the text that comes out."""
    revealed: tuple[tuple[str, ...], ...] = ()
    """The parts of the value of which a reader of what comes out learns something: a text, or a number."""

    @property
    def key(self) -> str:
        """The context key."""
        return self.path[0]


def key_reads(step: StepView, project: Surroundings) -> list[KeyRead]:
    """Every read that the step's own text shows, in the order of its fields."""
    found: list[KeyRead] = []
    for site in rendered_sites(step):
        inside = site.path[3:]
        found.extend(
            _template(site.text, site.path, site.field, sure=_is_sure(step, inside), lenient="approval" in inside)
        )
    match step.kind:
        case "Router":
            found.extend(_router(step))
        case "Response":
            found.extend(_response(step))
        case "Agent":
            found.extend(_agent(step, project))
        case "HumanInTheLoop":
            found.extend(_listed(step, ("ui", "display_context")))
        case "Functional":
            found.extend(_node(step, project))
    return found


def reads_everything(step: StepView, project: Surroundings) -> bool:
    """Whether the step looks at the whole context: an agent that works on its own, or a node that does not say."""
    if step.kind == "Agent":
        return step.mode != "completion"
    if step.kind != "Functional":
        return step.kind is None
    runner = text(step.data.get("runner")) or ""
    node = project.nodes.declared.get(runner)
    return runner not in BUILT_IN_NODES and (node is None or node.reads is None)


def _is_sure(step: StepView, inside: KeyPath) -> bool:
    """Whether a template is rendered whenever the step runs."""
    if inside[0] == "when":
        return inside[1] == 0
    return inside[0] != "idempotency_key" or step.kind == "APICall"


def _template(
    source: str, place: KeyPath, field: str, *, sure: bool = True, lenient: bool = False
) -> Iterator[KeyRead]:
    found = scan(source)
    if found.problems:
        return
    for path in found.paths:
        need: Need = "sometimes"
        if lenient or path[0] in found.defaulted:
            need = "never"
        elif sure and path[0] in found.certain:
            need = "always"
        yield KeyRead(path, place, field, need, path in found.shown, _below(path, found.revealed))


def _below(path: tuple[str, ...], paths: frozenset[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(each for each in paths if each[: len(path)] == path))


def _router(step: StepView) -> Iterator[KeyRead]:
    for form in ("condition", "match"):
        field = text(step.get(form, "field"))
        if field:
            lenient = form == "condition" and step.get(form, "operator") in _LENIENT_OPERATORS
            need: Need = "never" if lenient else "always"
            yield KeyRead(tuple(field.split(".")), (*step.path, form, "field"), f"{form}.field", need)


def _response(step: StepView) -> Iterator[KeyRead]:
    source = text(step.data.get("source"))
    if source:
        yield KeyRead(tuple(source.split(".")), (*step.path, "source"), "source", "always")
    for name, path in mapping(step.data.get("mapping")).items():
        if isinstance(path, str) and path:
            yield KeyRead(tuple(path.split(".")), (*step.path, "mapping", name), f"mapping.{name}", "always")


def _listed(step: StepView, keys: tuple[str, ...]) -> Iterator[KeyRead]:
    for index, name in enumerate(items(step.get(*keys))):
        if isinstance(name, str) and name:
            yield KeyRead((name,), (*step.path, *keys, index), ".".join(keys), "listed")


def _node(step: StepView, project: Surroundings) -> Iterator[KeyRead]:
    runner = text(step.data.get("runner")) or ""
    node = project.nodes.declared.get(runner) if runner not in BUILT_IN_NODES else None
    for name in (node.reads if node is not None else None) or ():
        yield KeyRead((name,), (*step.path, "runner"), f"reads= of node {runner!r}", "listed")


def _agent(step: StepView, project: Surroundings) -> Iterator[KeyRead]:
    yield from _listed(step, ("agent", "context_injection"))
    for name in _PROSE:
        yield from _artifact(step.agent.get(name), (*step.path, "agent", name), project)
    for index, skill in enumerate(items(step.agent.get("skills"))):
        yield from _artifact(skill, (*step.path, "agent", "skills", index), project)


def _artifact(reference: object, place: KeyPath, project: Surroundings) -> Iterator[KeyRead]:
    if not isinstance(reference, str) or not reference.startswith(ARTIFACT_SCHEME):
        return
    artifact = project.resolve(reference)
    if artifact is not None and artifact.template and artifact.body is not None:
        yield from _template(artifact.body, place, reference)
