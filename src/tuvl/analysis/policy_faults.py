"""What a workflow calls and the project's policy forbids: said by the checks, and refused when a run begins."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.called_models import CalledModel, called_models
from tuvl.analysis.fault import Fault
from tuvl.analysis.policy import allowed_models, allows_model, model_names, only_hosts
from tuvl.analysis.references import judged_assertions
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.urls import Url, urls
from tuvl.values import KeyPath


def policy_faults(
    workflow: WorkflowView, project: Surroundings, models: Mapping[str, str] | None = None
) -> Iterator[Fault]:
    """Models and hosts that no run may call; `models` replaces models by the name they are called by."""
    called = list(called_models(workflow, project))
    if allowed_models(project) is not None:
        yield from _forbidden_models(called, project, models or {})
    if only_hosts(project) is not None:
        yield from _forbidden_hosts(workflow, project, called, models or {})


def scenario_policy_faults(data: Mapping[str, Any], project: Surroundings) -> Iterator[Fault]:
    """Models that the judges of a WorkflowTest may not call, and hosts that those lead to."""
    called = [
        CalledModel(
            owner=f"judge {index + 1}",
            step=None,
            site=(index,),
            path=("spec", "expect", "judge", index, "model"),
            name=entry.get("model"),
        )
        for index, entry in judged_assertions(data)
        if text(entry.get("model"))  # without one nobody judges
    ]
    if allowed_models(project) is not None:
        yield from _forbidden_models(called, project, {})
    if only_hosts(project) is not None:
        for each in called:
            yield from _forbidden(_of_model(each, project, {}), project)


# ---- models ------------------------------------------------------------------------------------------------------


def _forbidden_models(called: list[CalledModel], project: Surroundings, replaced: Mapping[str, str]) -> Iterator[Fault]:
    told: set[tuple[str, tuple[str, ...]]] = set()
    for each in called:
        names = model_names(each.name, project, replaced)
        if (each.owner, names) in told or allows_model(names, project):
            continue
        told.add((each.owner, names))
        patterns = ", ".join(map(repr, allowed_models(project) or ()))
        behind = f" ({names[1]})" if len(names) > 1 else ""
        yield Fault(
            each.path,
            f"{each.owner} calls model {names[0]!r}{behind}, "
            f"which is none that `policy.allow_models` allows ({patterns or 'none at all'})",
            "name a model that the policy allows, or widen the policy in `tuvl.yaml`",
        )


# ---- hosts -------------------------------------------------------------------------------------------------------


def _forbidden_hosts(
    workflow: WorkflowView, project: Surroundings, called: list[CalledModel], replaced: Mapping[str, str]
) -> Iterator[Fault]:
    yield from _forbidden(_reached(workflow, project), project)
    for each in called:
        yield from _forbidden(_of_model(each, project, replaced), project)


def _forbidden(reached: Iterator[tuple[KeyPath, str, Url]], project: Surroundings) -> Iterator[Fault]:
    from tuvl.http.address import AddressPolicy  # takes milliseconds to import, and few projects have such a policy

    policy = AddressPolicy(only_hosts=only_hosts(project))
    for path, whose, url in reached:
        if not url.templated and not policy.permits_host(url.host, url.port):
            yield Fault(
                path,
                f"{whose}host {url.host!r} is none that `policy.allow_hosts` allows, so every call there is refused",
                "call a host that the policy allows, or widen the policy in `tuvl.yaml`",
            )


def _reached(workflow: WorkflowView, project: Surroundings) -> Iterator[tuple[KeyPath, str, Url]]:
    for url in urls(workflow.data, "Workflow"):
        yield url.path, "", url
    for step in workflow.steps:
        reference = step.get("mcp", "server")
        artifact = project.resolve(reference) if step.kind == "MCP" and isinstance(reference, str) else None
        if artifact is not None and artifact.type == "mcp":
            for url in urls({"spec": spec_of(artifact.data)}, "Artifact"):
                yield (*step.path, "mcp", "server"), "", url


def _of_model(
    called: CalledModel, project: Surroundings, replaced: Mapping[str, str]
) -> Iterator[tuple[KeyPath, str, Url]]:
    """The hosts that the preset behind a call names; that of a provider itself is ruled by `allow_models`."""
    name = model_names(called.name, project, replaced)[0]
    preset = None if "/" in name else project.preset(name)
    if preset is not None:
        for url in urls(mapping(preset.data), "AgentModel"):
            yield called.path, f"{called.owner} calls model {name!r}: ", url
