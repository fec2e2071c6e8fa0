"""Language models of a workflow that are no models: their replies stand in a script."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.language_models import DEFAULT_MODEL
from tuvl.analysis.pins import named_models
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of

SCRIPTED = "scripted"
_HINT = "give the preset a provider and a model, or name another preset; scripts belong in tests"


def scripted_models(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Places of a workflow that call a scripted model, guardrails' judges included."""
    default = text(spec_of(project.config).get("default_model")) or DEFAULT_MODEL
    for path, name in named_models(workflow.data, "Workflow"):
        # Only an agent has a model without naming one.
        if name is None and path[-2:] == ("agent", "model"):
            path, name = path[:-1], default
        if _is_scripted(name, project):
            yield Fault(
                path, f"model {name!r} is scripted: it gives the replies of its script, whatever it is asked", _HINT
            )
    for step in workflow.steps:
        yield from _judges(step, project)


def _judges(step: StepView, project: Surroundings) -> Iterator[Fault]:
    for site, references in mapping(step.agent.get("guardrails")).items():
        for index, reference in enumerate(items(references)):
            artifact = project.resolve(reference) if isinstance(reference, str) else None
            for name in _judging(artifact.data if artifact is not None else {}):
                if _is_scripted(name, project):
                    path = (*step.path, "agent", "guardrails", site, index)
                    message = (
                        f"the judge of {reference!r} is the scripted model {name!r}: its verdicts stand in a script"
                    )
                    yield Fault(path, message, _HINT)


def _judging(data: Mapping[str, Any]) -> Iterator[object]:
    for check in items(spec_of(data).get("checks")):
        if mapping(check).get("check") == "llm_judge":
            yield mapping(check).get("model")


def _is_scripted(name: object, project: Surroundings) -> bool:
    if not isinstance(name, str) or "/" in name:
        return False
    preset = project.preset(name)
    return preset is not None and spec_of(mapping(preset.data)).get("provider") == SCRIPTED
