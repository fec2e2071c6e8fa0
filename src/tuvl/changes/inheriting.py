"""Which workflows a change of the project's configuration concerns: of a default those that leave it to the project."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.changes.change import CODES, Change
from tuvl.changes.site import Side
from tuvl.source.document import Document

_UNUSED = "unused-changed"


def concerning(change: Change, names: tuple[str, ...], side: Side) -> tuple[Change, tuple[str, ...]]:
    """Return the change and the workflows that it concerns; a default that all of them replace is unused."""
    leaves = _test(change.path)
    if leaves is None or not names:
        return change, names
    documents = {name: side.index.find("Workflow", name) for name in names}
    concerned = tuple(
        name for name, document in documents.items() if document is None or leaves(WorkflowView(mapping(document.data)))
    )
    if concerned:
        return change, concerned
    message = f"{change.message}; every workflow has its own"
    return replace(change, cls=CODES[_UNUSED].cls, code=_UNUSED, message=message), ()


def _with_inner(document: Document, side: Side) -> Iterator[WorkflowView]:
    """The workflow, and those that it runs."""
    waiting: list[Document | None] = [document]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            view = WorkflowView(mapping(each.data))
            yield view
            names = [text(step.data.get("workflow")) for step in view.steps if step.kind == "Workflow"]
            waiting += [side.index.find("Workflow", name) for name in names if name]


def _test(path: str) -> Callable[[WorkflowView], bool] | None:
    """How to tell whether a workflow leaves to the project what stands at a path of `tuvl.yaml`."""
    parts = path.split(".")
    if parts[:2] == ["spec", "default_model"]:
        return _has_agent_without_model
    if parts[:2] == ["spec", "limits"]:
        names = parts[2:3]
        return lambda view: any(_limits(view).get(name) is None for name in names) if names else True
    return None


def _limits(view: WorkflowView) -> Mapping[str, Any]:
    return mapping(view.spec.get("limits"))


def _has_agent_without_model(view: WorkflowView) -> bool:
    judge = mapping(mapping(view.spec.get("supervisor")).get("judge"))
    return any(step.kind == "Agent" and step.agent.get("model") is None for step in view.steps) or (
        bool(judge) and judge.get("model") is None
    )
