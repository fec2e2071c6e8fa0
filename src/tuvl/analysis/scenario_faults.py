"""What is wrong with the names a scenario uses: its workflow, and the steps of that workflow."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.reference_faults import called_workflows
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, hidden
from tuvl.suggest import did_you_mean
from tuvl.values import KeyPath


def unknown_in_scenario(data: Mapping[str, Any], project: Surroundings) -> Iterator[Fault]:
    """A workflow that is not there; stubs, effects, answers and expectations of steps that it does not have."""
    spec = mapping(data.get("spec"))
    name = text(spec.get("workflow"))
    if not name:
        return
    document = project.workflow(name)
    if document is None:
        hint = hidden(name, project) or f"add a `kind: Workflow` document named {name!r}, or name one that is there"
        yield Fault(("spec", "workflow"), f"workflow {name!r} is none of this project", hint)
        return
    workflow = WorkflowView(mapping(document.data))
    own, inside = _kinds(workflow), _steps_inside(workflow, project)
    tools = {**own, **dict.fromkeys(key.partition("/")[2] for key in inside)}
    for path, step, what, at_key in _named(spec):
        known = tools if what == _CALL else {**own, **inside} if what in _ANYWHERE else own
        if step not in known:
            yield Fault(
                path,
                f"{what} {step!r} is no step of workflow {name!r}",
                did_you_mean(step, known) or f"name a step of {name!r}",
                at_key=at_key,
            )
        elif what == _ANSWER and known[step] != "HumanInTheLoop":
            yield Fault(
                path,
                f"{what} {step!r} is for a step of kind {known[step]}, which asks nobody",
                "name a HumanInTheLoop step, or give this one a stub",
                at_key=at_key,
            )


_ANSWER = "answer"

_CALL = "expected call"
"""Names a tool alone, though its agent may stand in a workflow inside."""

_ANYWHERE = ("stub", _ANSWER, "`allow_effects`")
"""What may name steps of workflows inside, as `workflow/step`."""


def _named(spec: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str, str, bool]]:
    """Yield each place that names a step: path, the name, what it is, and whether it is a key."""
    for block, what in (("stubs", "stub"), ("answers", _ANSWER)):
        for key in mapping(spec.get(block)):
            yield ("spec", block, key), key, what, True
    for index, entry in enumerate(items(spec.get("allow_effects"))):
        if isinstance(entry, str):
            yield ("spec", "allow_effects", index), entry, "`allow_effects`", False
    expect = mapping(spec.get("expect"))
    for index, entry in enumerate(items(expect.get("steps"))):
        if isinstance(entry, str):
            yield ("spec", "expect", "steps", index), entry, "expected step", False
    for index, entry in enumerate(items(expect.get("calls"))):
        path: KeyPath = ("spec", "expect", "calls", index)
        tool = entry if isinstance(entry, str) else mapping(entry).get("tool")
        if isinstance(tool, str):
            yield (path if isinstance(entry, str) else (*path, "tool")), tool, _CALL, False


def _kinds(workflow: WorkflowView) -> dict[str, str | None]:
    return {name: step.kind for name, step in workflow.by_id.items()}


def _steps_inside(workflow: WorkflowView, project: Surroundings) -> dict[str, str | None]:
    """The steps of the workflows that it runs inside, as `workflow/step`, and their kinds."""
    found: dict[str, str | None] = {}
    ahead, seen = [workflow], {workflow.name}
    while ahead:
        for _, name in called_workflows(ahead.pop()):
            document = project.workflow(name) if name not in seen else None
            seen.add(name)
            if document is not None:
                view = WorkflowView(mapping(document.data))
                found |= {f"{name}/{step}": kind for step, kind in _kinds(view).items()}
                ahead.append(view)
    return found
