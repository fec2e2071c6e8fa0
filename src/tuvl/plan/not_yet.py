"""What can be written and checked but not be run yet: the one table. A run that needs any of it refuses at once."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.steps import StepView, WorkflowView

KINDS: Mapping[str, str] = {
    "HumanInTheLoop": "questions to a person",
}
"""Step kind → what it stands for."""

WORKFLOW_FIELDS: Mapping[str, object] = {"durable": False, "supervisor": None}
"""Field of `spec:` → the value with which it asks for nothing."""


def not_yet(workflow: WorkflowView) -> Iterator[str]:
    """What the workflow asks for and this version cannot do, each naming the step and the field."""
    for name in _asked(workflow.spec, WORKFLOW_FIELDS):
        yield f"`spec.{name}` is not available in this version"
    for step in workflow.steps:
        yield from _of_step(step)


def _of_step(step: StepView) -> Iterator[str]:
    if step.kind is not None and step.kind in KINDS:
        yield f"step {step.id!r}: kind {step.kind!r} ({KINDS[step.kind]}) is not available in this version"


def _asked(data: Mapping[str, object], fields: Mapping[str, object]) -> Iterator[str]:
    for name, nothing in fields.items():
        value = data.get(name)
        if value is not None and value != nothing and value not in ([], {}):
            yield name
