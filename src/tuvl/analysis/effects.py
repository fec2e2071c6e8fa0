"""Whether a step changes anything outside the run."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from tuvl.analysis.steps import StepView, mapping
from tuvl.analysis.surroundings import ALONE, Surroundings

Effects: TypeAlias = Literal["read", "write"]

_SAFE_METHODS = ("GET", "HEAD")
_PERHAPS_SAFE = (*_SAFE_METHODS, "OPTIONS")
"""Methods that may only read, so that `effects: read` is believed of them."""
_OTHER_METHODS = ("x-http-method-override", "x-http-method", "x-method-override")
"""Headers by which a server takes a call for one of another method."""
_READING_OPERATIONS = ("read", "list")


def effects_of(step: StepView, project: Surroundings = ALONE) -> Effects:
    """The step's declared `effects`, else a node's own, else what its kind implies; in doubt `write`.

    An operation on records that writes does so whatever is declared.
    """
    if step.kind == "ModelOp" and writes_by_kind(step, project):
        return "write"
    match step.data.get("effects"):
        case "read":
            return "read"
        case "write":
            return "write"
    match step.kind:
        case "Router" | "Response":
            return "read"
        case "APICall":
            return "read" if all(method in _SAFE_METHODS for method in _methods(step)) else "write"
        case "ModelOp":
            return "read" if step.data.get("operation") in _READING_OPERATIONS else "write"
        case "Functional":
            return _effects_of_node(step, project)
        case _:
            return "write"


def writes_by_kind(step: StepView, project: Surroundings = ALONE) -> bool:
    """Whether a step writes by its own text, whatever `effects` it declares; `False` where nobody can tell."""
    match step.kind:
        case "APICall":
            return any(method not in _PERHAPS_SAFE for method in _methods(step))
        case "ModelOp":
            return step.data.get("operation") not in (*_READING_OPERATIONS, None)
        case "Functional":
            runner = step.data.get("runner")
            node = project.nodes.declared.get(runner) if isinstance(runner, str) else None
            return node is not None and node.effects == "write"
        case _:
            return False


def _methods(step: StepView) -> Iterator[object]:
    """Yield the method of an APICall, and those that its headers say it has."""
    yield step.get("http", "method") or "GET"
    for name, value in mapping(step.get("http", "headers")).items():
        if str(name).lower() in _OTHER_METHODS:
            yield value.strip().upper() if isinstance(value, str) else value


def _effects_of_node(step: StepView, project: Surroundings) -> Effects:
    runner = step.data.get("runner")
    node = project.nodes.declared.get(runner) if isinstance(runner, str) else None
    return node.effects if node is not None and node.effects is not None else "write"
