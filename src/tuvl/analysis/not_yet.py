"""What a workflow asks for that this version cannot do: said by the checks, and refused when a run begins."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, WorkflowView
from tuvl.spec.unavailable import KINDS, WORKFLOW_FIELDS

_HINT = "take it out until a version of tuvl has it"


def not_yet(workflow: WorkflowView) -> Iterator[Fault]:
    """Everything of the kind, each naming the step and the field."""
    for name in _asked(workflow.spec, WORKFLOW_FIELDS):
        yield Fault(("spec", name), f"`spec.{name}` is not available in this version", _HINT, at_key=True)
    for step in workflow.steps:
        yield from _of_step(step)


def _of_step(step: StepView) -> Iterator[Fault]:
    if step.kind is not None and step.kind in KINDS:
        message = f"step {step.id!r}: kind {step.kind!r} ({KINDS[step.kind]}) is not available in this version"
        yield Fault((*step.path, "kind"), message, _HINT)


def _asked(data: Mapping[str, object], fields: Mapping[str, object]) -> Iterator[str]:
    for name, nothing in fields.items():
        value = data.get(name)
        if value is not None and value != nothing and value not in ([], {}):
            yield name
