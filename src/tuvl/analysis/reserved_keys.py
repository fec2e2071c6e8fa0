"""Places of a workflow that would set a key with a leading `_`: those belong to the engine, which refuses."""

from collections.abc import Iterator

from tuvl.analysis.fault import Fault
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.values import KeyPath

_HINT = "choose a name without a leading `_`"


def reserved_keys(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Everything that would set a reserved key, in file order."""
    properties = mapping(mapping(workflow.spec.get("input")).get("properties"))
    for name in properties:
        if _is_reserved(name):
            path = ("spec", "input", "properties", name)
            yield Fault(path, f"the input cannot bring {name!r}: {_WHY}", _HINT, at_key=True)
    for step in workflow.steps:
        for written, place, at_key in _names(step, workflow, project):
            if _is_reserved(written):
                yield Fault(place, f"step {step.id!r} would set {written!r}: {_WHY}", _HINT, at_key=at_key)


_WHY = "keys with a leading `_` belong to the engine"


def _is_reserved(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_")


def _names(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[tuple[object, KeyPath, bool]]:
    """Names that a step sets, where each stands, and whether it is the key there rather than the value."""
    path = step.path
    match step.kind:
        case "Functional":
            yield from _of_node(step, project)
        case "APICall" | "MCP":
            response = mapping(step.data.get("response"))
            yield response.get("output_key"), (*path, "response", "output_key"), False
            for index, entry in enumerate(items(response.get("extract"))):
                yield mapping(entry).get("as"), (*path, "response", "extract", index, "as"), False
        case "ModelOp":
            yield step.data.get("output"), (*path, "output"), False
        case "ForEach":
            yield step.data.get("as"), (*path, "as"), False
            yield step.data.get("output_key"), (*path, "output_key"), False
        case "Workflow":
            for name in mapping(step.data.get("input")):
                yield name, (*path, "input", name), True
            yield step.data.get("output_key"), (*path, "output_key"), False
        case "HumanInTheLoop":
            yield step.data.get("output_key"), (*path, "output_key"), False
        case "Agent":
            yield from _of_agent(step, workflow)


def _of_node(step: StepView, project: Surroundings) -> Iterator[tuple[object, KeyPath, bool]]:
    runner = text(step.data.get("runner")) or ""
    if runner == "set":
        for name in mapping(step.data.get("values")):
            yield name, (*step.path, "values", name), True
    node = project.nodes.declared.get(runner) if runner not in BUILT_IN_NODES else None
    for name in (node.writes if node is not None else None) or ():
        yield name, (*step.path, "runner"), False


def _of_agent(step: StepView, workflow: WorkflowView) -> Iterator[tuple[object, KeyPath, bool]]:
    path = (*step.path, "agent")
    outcome = mapping(step.agent.get("outcome"))
    yield outcome.get("write"), (*path, "outcome", "write"), False
    for field, target in mapping(outcome.get("map")).items():
        yield target, (*path, "outcome", "map", field), False
    for use in tool_uses(step, workflow):
        if use.declared:
            for name in use.names:
                yield name, (*use.path, "parameters", "properties", name), True
