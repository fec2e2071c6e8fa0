"""Values that go into `secure` fields of records, and the prompts and logs that show them before."""

from collections.abc import Iterator

from tuvl.analysis.agent_effects import guards
from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import FlowGraph, Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.taint import injected
from tuvl.templating.scan import scan
from tuvl.values import KeyPath

_WRITING = ("create", "update")
_UNMASKED = ("system", "steering", "skills")


def exposed_secrets(flow: KeyFlow, project: Surroundings) -> Iterator[Fault]:
    """Steps that show a value to a model or a log which the workflow keeps in a `secure` field."""
    secrets = dict(_secrets(flow.graph.workflow, project))
    if not secrets:
        return
    for place in sorted(flow.graph.places, key=lambda place: (place.step.index, place.called)):
        told: set[str] = set()
        for key, what, path in _shown(place, secrets, flow, project):
            if key not in told:
                told.add(key)
                yield Fault(
                    path,
                    f"step {place.step.id!r} shows {key!r} to {what}; its value goes into the secure {secrets[key]}",
                    "leave it out, or mask it with a `pii_mask` guardrail at `guardrails.input`",
                )


def _secrets(workflow: WorkflowView, project: Surroundings) -> Iterator[tuple[str, str]]:
    """Context keys whose value a step puts into a secure field, and the field."""
    for step in workflow.steps:
        if step.kind != "ModelOp" or step.data.get("operation") not in _WRITING:
            continue
        model = text(step.data.get("model")) or ""
        secure = _secure_fields(model, project)
        for field, value in mapping(step.data.get("payload")).items():
            if field in secure and isinstance(value, str):
                for path in sorted(scan(value).shown):
                    yield path[0], f"{field!r} of {model!r}"


def _secure_fields(model: str, project: Surroundings) -> set[str]:
    document = project.data_model(model) if model else None
    spec = mapping(mapping(document.data if document is not None else None).get("spec"))
    fields = map(mapping, items(spec.get("fields")))
    return {str(field.get("name")) for field in fields if field.get("secure") is True}


def _shown(
    place: Place, secrets: dict[str, str], flow: KeyFlow, project: Surroundings
) -> Iterator[tuple[str, str, KeyPath]]:
    step = place.step
    if step.kind == "Functional" and step.data.get("runner") == "log":
        for read in place.reads:
            if read.key in secrets and read.shown:
                yield read.key, "the log", read.place
    elif step.kind == "Agent":
        masked = _masks(step, project)
        for read in place.reads:
            part = read.place[len(step.path) + 1 : len(step.path) + 2]
            if read.key in secrets and read.shown and part and not (masked and part[0] not in _UNMASKED):
                yield read.key, "a model", read.place
        if not masked:
            yield from _in_context(place, secrets, flow.graph, flow.possible[place.index] or 0)


def _in_context(
    place: Place, secrets: dict[str, str], graph: FlowGraph, possible: int
) -> Iterator[tuple[str, str, KeyPath]]:
    """Keys handed over whole: injected ones, and for an agent that works on its own the whole context."""
    step = place.step
    for index, name in enumerate(injected(step)):
        if name in secrets:
            yield name, "a model", (*step.path, "agent", "context_injection", index)
    if step.mode == "autonomous":
        for name in secrets:
            if possible & graph.keys.bit(name):
                yield name, "a model (an agent that works on its own sees the whole context)", (*step.path, "id")


def _masks(step: StepView, project: Surroundings) -> bool:
    return any(check.get("check") == "pii_mask" for guard in guards(step, "input", project) for check in guard.checks)
