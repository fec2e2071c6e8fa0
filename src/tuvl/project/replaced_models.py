"""Models that a run replaces by others: whether its workflow calls them, and whether the others are there."""

from collections.abc import Mapping

from tuvl.analysis.language_models import DEFAULT_MODEL
from tuvl.analysis.reference_faults import called_workflows
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.surroundings import hidden
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.suggest import did_you_mean


def check_replacements(models: Mapping[str, str], document: Document, project: ProjectIndex, *, said: str) -> None:
    """Refuse replacements of models that the workflow does not call, and by presets that are not there.

    `said` is where whoever starts the run says them. Raises `UsageError`.
    """
    if not models:
        return
    called = _called_models(document, project)
    presets = project.presets
    for name, preset in models.items():
        if name not in called:
            hint = did_you_mean(name, called) or (f"it calls {', '.join(called)}" if called else "it calls none")
            raise UsageError(f"{said} replaces {name!r}, which the workflow does not call; {hint}")
        if "/" not in preset and preset not in presets:
            hint = did_you_mean(preset, presets) or "write a provider string such as openai/gpt-4.1-mini"
            hint = hidden(preset, project) or hint
            raise UsageError(f"{said} {name}={preset}: the project has no AgentModel {preset!r}; {hint}")


def _called_models(document: Document, project: ProjectIndex) -> dict[str, None]:
    """Return the names that agents call models by, those of the workflows that it runs inside included."""
    default = mapping(project.config.get("spec")).get("default_model")
    unnamed = [DEFAULT_MODEL, *([default] if isinstance(default, str) else [])]
    called: dict[str, None] = {}
    ahead, seen = [WorkflowView(mapping(document.data))], set[str]()
    while ahead:
        workflow = ahead.pop(0)
        for step in workflow.steps:
            if step.kind == "Agent":
                name = step.agent.get("model")
                called |= dict.fromkeys([name] if isinstance(name, str) else unnamed)
                summariser = mapping(step.agent.get("compaction")).get("model")
                called |= dict.fromkeys([summariser] if isinstance(summariser, str) else [])
        for _, inner in called_workflows(workflow):
            found = project.workflow(inner) if inner not in seen else None
            seen.add(inner)
            ahead += [] if found is None else [WorkflowView(mapping(found.data))]
    return called
