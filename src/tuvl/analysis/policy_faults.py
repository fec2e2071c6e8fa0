"""What a workflow calls and the project's policy forbids: said by the checks, and refused when a run begins."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.fault import Fault
from tuvl.analysis.policy import allowed_models, allows_model, model_names, only_hosts
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.urls import Url, urls
from tuvl.values import KeyPath


def policy_faults(
    workflow: WorkflowView, project: Surroundings, models: Mapping[str, str] | None = None
) -> Iterator[Fault]:
    """Models and hosts that no run may call; `models` replaces models by the name they are called by."""
    if allowed_models(project) is not None:
        for step in workflow.steps:
            if step.kind == "Agent":
                yield from _forbidden_models(step, project, models or {})
    if only_hosts(project) is not None:
        yield from _forbidden_hosts(workflow, project)


# ---- models ------------------------------------------------------------------------------------------------------


def _forbidden_models(step: StepView, project: Surroundings, replaced: Mapping[str, str]) -> Iterator[Fault]:
    told: set[tuple[str, ...]] = set()
    for path, name in _called(step, project):
        names = model_names(name, project, replaced)
        if names in told or allows_model(names, project):
            continue
        told.add(names)
        patterns = ", ".join(map(repr, allowed_models(project) or ()))
        behind = f" ({names[1]})" if len(names) > 1 else ""
        yield Fault(
            path,
            f"step {step.id!r} calls model {names[0]!r}{behind}, "
            f"which is none that `policy.allow_models` allows ({patterns or 'none at all'})",
            "name a model that the policy allows, or widen the policy in `tuvl.yaml`",
        )


def _called(step: StepView, project: Surroundings) -> Iterator[tuple[KeyPath, object]]:
    """The models that an agent calls, each with the place that makes it."""
    path = (*step.path, "agent")
    yield ((*path, "model") if "model" in step.agent else path), step.agent.get("model")
    summary = text(mapping(step.agent.get("compaction")).get("model"))
    if summary is not None:
        yield (*path, "compaction", "model"), summary
    for site, references in mapping(step.agent.get("guardrails")).items():
        for index, reference in enumerate(items(references)):
            for judge in _judges(reference, project):
                yield (*path, "guardrails", site, index), judge


def _judges(reference: object, project: Surroundings) -> Iterator[object]:
    artifact = project.resolve(reference) if isinstance(reference, str) else None
    if artifact is None or artifact.type != "guardrail":
        return
    for check in items(spec_of(artifact.data).get("checks")):
        if isinstance(check, dict) and check.get("check") == "llm_judge":
            yield check.get("model")


# ---- hosts -------------------------------------------------------------------------------------------------------


def _forbidden_hosts(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    from tuvl.http.address import AddressPolicy  # takes milliseconds to import, and few projects have such a policy

    policy = AddressPolicy(only_hosts=only_hosts(project))
    for path, url in _reached(workflow, project):
        if not url.templated and not policy.permits_host(url.host, url.port):
            yield Fault(
                path,
                f"host {url.host!r} is none that `policy.allow_hosts` allows, so every call there is refused",
                "call a host that the policy allows, or widen the policy in `tuvl.yaml`",
            )


def _reached(workflow: WorkflowView, project: Surroundings) -> Iterator[tuple[KeyPath, Url]]:
    for url in urls(workflow.data, "Workflow"):
        yield url.path, url
    for step in workflow.steps:
        reference = step.get("mcp", "server")
        artifact = project.resolve(reference) if step.kind == "MCP" and isinstance(reference, str) else None
        if artifact is not None and artifact.type == "mcp":
            for url in urls(artifact.data, "Artifact"):
                yield (*step.path, "mcp", "server"), url
