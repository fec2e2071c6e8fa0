"""What the project's `policy:` says, read from a file in whatever state."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from tuvl.analysis.effects import effects_of
from tuvl.analysis.inside import writes_in_fact
from tuvl.analysis.language_models import DEFAULT_MODEL
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of


def policy_of(project: Surroundings) -> Mapping[str, Any]:
    """The policy; empty without one."""
    return mapping(spec_of(project.config).get("policy"))


def model_names(name: object, project: Surroundings, replaced: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What the policy on models looks at: the name, and provider and model behind it.

    `replaced` gives other models by the name that agents call them by.
    """
    instead, own = replaced or {}, text(name)
    chosen = instead.get(own or DEFAULT_MODEL)
    if chosen is None:
        chosen = own or text(spec_of(project.config).get("default_model")) or DEFAULT_MODEL
        chosen = instead.get(chosen, chosen)
    preset = None if "/" in chosen else project.preset(chosen)
    if preset is None:
        return (chosen,)
    spec = spec_of(mapping(preset.data))
    provider, model = text(spec.get("provider")) or "", text(spec.get("model"))
    return (chosen, f"{provider}/{model}" if model else provider)


def allowed_models(project: Surroundings) -> tuple[str, ...] | None:
    """The patterns of models that may be called; `None` allows all."""
    return _texts(policy_of(project).get("allow_models"))


def allows_model(names: tuple[str, ...], project: Surroundings) -> bool:
    """Whether a model that goes by these names may be called."""
    allowed = allowed_models(project)
    return allowed is None or any(fnmatchcase(name, pattern) for name in names for pattern in allowed)


def only_hosts(project: Surroundings) -> tuple[str, ...] | None:
    """The patterns of the only hosts that calls may reach; `None` sets no such bound."""
    return _texts(policy_of(project).get("allow_hosts"))


def asks_by_policy(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a person is asked before this step runs as a tool, whatever the workflow says.

    A workflow can only be stricter: `effects: read` at a step that writes by its own text takes nothing away.
    """
    asked = items(mapping(policy_of(project).get("require_approval")).get("effects"))
    return effects_of(step, project) in asked or ("write" in asked and writes_in_fact(step, workflow, project))


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else None
