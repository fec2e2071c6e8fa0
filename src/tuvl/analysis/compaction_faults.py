"""Compaction that has no window to keep to, or one that its reserve leaves nothing of: what cannot run."""

from collections.abc import Iterator

from tuvl.analysis.fault import Fault
from tuvl.analysis.language_models import DEFAULT_MODEL, whole
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of


def compaction_faults(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Both, in the order of the steps."""
    for step in workflow.steps:
        if step.kind == "Agent" and step.mode == "autonomous" and isinstance(step.agent.get("compaction"), dict):
            yield from _of_agent(step, project)


def _of_agent(step: StepView, project: Surroundings) -> Iterator[Fault]:
    compaction, path = mapping(step.agent.get("compaction")), (*step.path, "agent", "compaction")
    name = text(step.agent.get("model")) or text(spec_of(project.config).get("default_model")) or DEFAULT_MODEL
    preset = None if "/" in name else project.preset(name)
    spec = spec_of(mapping(preset.data)) if preset is not None else {}
    window = whole(compaction.get("max_tokens")) or whole(spec.get("context_window"))
    if window is None:
        yield Fault(
            path,
            f"`compaction` of step {step.id!r} has no window to keep to",
            f"give it `max_tokens`, or the model {name!r} a `context_window`",
            at_key=True,
            final=True,
        )
        return
    kept = {
        "compaction.reserve": whole(compaction.get("reserve")),
        "max_output_tokens": whole(step.agent.get("max_output_tokens")),
        f"max_tokens of model {name!r}": whole(spec.get("max_tokens")),
    }
    field, reserve = next(((field, size) for field, size in kept.items() if size is not None), ("", 0))
    if reserve >= window:
        own = field == "compaction.reserve"
        yield Fault(
            (*path, "reserve") if own else path,
            f"`compaction` of step {step.id!r} keeps {reserve} of {window} tokens free ({field}), "
            "which leaves no room for messages",
            f"lower {'`reserve`' if own else 'it, set a smaller `reserve`,'} or raise `max_tokens` of `compaction`",
            at_key=not own,
            final=True,
        )
