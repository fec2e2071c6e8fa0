"""Places of a workflow that would set a key with a leading `_`: those belong to the engine, which refuses."""

from collections.abc import Iterator
from typing import NamedTuple

from tuvl.analysis.fault import Fault
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.schema_facts import required_of
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.values import KeyPath

_HINT = "choose a name without a leading `_`"


class _Set(NamedTuple):
    """A name that a step sets, and where it stands."""

    name: object
    path: KeyPath
    at_key: bool = False
    """Whether it is the key there rather than the value."""
    always: bool = True
    """Whether the step sets it whenever it gets that far, so that no run comes past it."""


def reserved_keys(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Everything that would set a reserved key, in file order."""
    given = mapping(workflow.spec.get("input"))
    for name in mapping(given.get("properties")):
        if _is_reserved(name):
            path = ("spec", "input", "properties", name)
            message = f"the input cannot bring {name!r}: {_WHY}"
            yield Fault(path, message, _HINT, at_key=True, final=name in required_of(given))
    for step in workflow.steps:
        for each in _names(step, workflow, project):
            if _is_reserved(each.name):
                message = f"step {step.id!r} would set {each.name!r}: {_WHY}"
                yield Fault(each.path, message, _HINT, at_key=each.at_key, final=each.always)


_WHY = "keys with a leading `_` belong to the engine"


def _is_reserved(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_")


def _names(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[_Set]:
    """Names that a step sets."""
    path = step.path
    match step.kind:
        case "Functional":
            yield from _of_node(step, project)
        case "APICall" | "MCP":
            response = mapping(step.data.get("response"))
            yield _Set(response.get("output_key"), (*path, "response", "output_key"))
            for index, entry in enumerate(items(response.get("extract"))):
                yield _Set(mapping(entry).get("as"), (*path, "response", "extract", index, "as"))
        case "ModelOp":
            yield _Set(step.data.get("output"), (*path, "output"))
        case "ForEach":
            yield _Set(step.data.get("as"), (*path, "as"))
            yield _Set(step.data.get("output_key"), (*path, "output_key"))
        case "Workflow":
            for name in mapping(step.data.get("input")):
                yield _Set(name, (*path, "input", name), at_key=True)
            yield _Set(step.data.get("output_key"), (*path, "output_key"))
        case "HumanInTheLoop":
            yield _Set(step.data.get("output_key"), (*path, "output_key"))
        case "Agent":
            yield from _of_agent(step, workflow)


def _of_node(step: StepView, project: Surroundings) -> Iterator[_Set]:
    runner = text(step.data.get("runner")) or ""
    if runner == "set":
        for name in mapping(step.data.get("values")):
            yield _Set(name, (*step.path, "values", name), at_key=True)
    node = project.nodes.declared.get(runner) if runner not in BUILT_IN_NODES else None
    for name in (node.writes if node is not None else None) or ():
        yield _Set(name, (*step.path, "runner"), always=False)


def _of_agent(step: StepView, workflow: WorkflowView) -> Iterator[_Set]:
    path = (*step.path, "agent")
    outcome = mapping(step.agent.get("outcome"))
    yield _Set(outcome.get("write"), (*path, "outcome", "write"))
    for field, target in mapping(outcome.get("map")).items():
        yield _Set(target, (*path, "outcome", "map", field), always=False)
    for use in tool_uses(step, workflow):
        if use.declared:
            for name in use.names:
                yield _Set(name, (*use.path, "parameters", "properties", name), at_key=True, always=False)
