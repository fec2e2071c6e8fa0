"""Signals of stubs that the step they stand for can never return."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.signals import possible_signals
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.spec.signals import DEFAULT, ERROR
from tuvl.suggest import did_you_mean
from tuvl.values import KeyPath


def impossible_stub_signals(data: Mapping[str, Any], project: Surroundings) -> Iterator[Fault]:
    """Yield each stub whose signal its step cannot return; a step that may return any is left alone."""
    spec = mapping(data.get("spec"))
    for key, stubs in mapping(spec.get("stubs")).items():
        found = _step(str(key), text(spec.get("workflow")) or "", project)
        several = isinstance(stubs, list)
        for number, stub in enumerate(stubs if several else [stubs]):
            path: KeyPath = ("spec", "stubs", key, *((number,) if several else ()))
            if found is not None and isinstance(stub, dict):
                yield from _fault(str(key), stub, path, *found, project)


def _step(key: str, tested: str, project: Surroundings) -> tuple[StepView, WorkflowView] | None:
    """The step that a stub stands for, `id` or `workflow/id`, and the workflow that it belongs to."""
    inside, slash, name = key.rpartition("/")
    document = project.workflow(inside if slash else tested)
    workflow = None if document is None else WorkflowView(mapping(document.data))
    step = None if workflow is None else workflow.by_id.get(name)
    return None if step is None or workflow is None else (step, workflow)


def _fault(
    key: str, stub: Mapping[str, Any], path: KeyPath, step: StepView, workflow: WorkflowView, project: Surroundings
) -> Iterator[Fault]:
    given = text(stub.get("signal"))
    signal = given or (ERROR if stub.get("error") is not None else DEFAULT)
    possible = possible_signals(step, workflow.spec, project)
    if possible.may_be(signal):
        return
    known = sorted(possible.known)
    what = f"gives signal {signal!r}" if given else f"names no signal and so gives {signal!r}"
    yield Fault(
        (*path, "signal") if given else path,
        f"the stub of step {key!r} {what}, which the step never returns",
        did_you_mean(signal, known) or f"it returns {', '.join(map(repr, known))}",
    )
