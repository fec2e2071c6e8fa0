"""What refers to what: steps that other steps name, and artifacts that a document names."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import ALONE, Surroundings, spec_of
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath

StepRole: TypeAlias = Literal["tool", "hook target", "ForEach body", "agent helper"]

ARTIFACT_SCHEME = "artifact://"

_HELPERS = ("trim", "tool_surface", "continue_on_stop", "conversation")
_RESERVE = ("reserve", "refund", "observe_request")


@dataclass(frozen=True, slots=True)
class StepReference:
    """One place that names a step without routing to it."""

    owner: str
    """Id of the step that refers, or the workflow's name for a hook of the whole workflow."""
    target: str
    role: StepRole
    path: KeyPath
    """Where the name stands; for a hook's target the reference to the hook."""


@dataclass(frozen=True, slots=True)
class ArtifactReference:
    """One place that names an artifact, or should; `site` is a name of `artifacts.reference.SITE_TYPES`."""

    text: str
    site: str
    path: KeyPath

    @property
    def is_reference(self) -> bool:
        """Whether the text is an artifact reference at all, rather than inline prose."""
        return self.text.startswith(ARTIFACT_SCHEME)


def step_references(workflow: WorkflowView, project: Surroundings = ALONE) -> tuple[StepReference, ...]:
    """Everything that names a step of the workflow without routing to it, in file order."""
    found = list(_hook_targets(workflow.name, ("spec", "hooks"), workflow.spec.get("hooks"), project))
    for step in workflow.steps:
        found.extend(_hook_targets(step.id, (*step.path, "hooks"), step.data.get("hooks"), project))
        if step.kind == "Agent":
            found.extend(_agent_references(step))
        elif step.kind == "ForEach":
            body = text(step.data.get("step"))
            if body is not None:
                found.append(StepReference(step.id, body, "ForEach body", (*step.path, "step")))
    return tuple(found)


def tool_entries(step: StepView) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The entries of `agent.tools` that name a step: position, step id, entry."""
    for index, entry in enumerate(items(step.agent.get("tools"))):
        ref = entry.get("ref") if isinstance(entry, dict) else None
        if isinstance(ref, str) and ref:
            yield index, ref, entry


def _agent_references(step: StepView) -> Iterator[StepReference]:
    path = (*step.path, "agent")
    for index, ref, _ in tool_entries(step):
        yield StepReference(step.id, ref, "tool", (*path, "tools", index, "ref"))
    for name in _HELPERS:
        target = text(step.agent.get(name))
        if target is not None:
            yield StepReference(step.id, target, "agent helper", (*path, name))
    reserve = mapping(step.agent.get("reserve"))
    for name in _RESERVE:
        target = text(reserve.get(name))
        if target is not None:
            yield StepReference(step.id, target, "agent helper", (*path, "reserve", name))


def _hook_targets(owner: str, path: KeyPath, hooks: object, project: Surroundings) -> Iterator[StepReference]:
    for index, reference in enumerate(items(hooks)):
        artifact = project.resolve(reference) if isinstance(reference, str) else None
        if artifact is None or artifact.type != "hook":
            continue
        spec = spec_of(artifact.data)
        target = text(spec.get("target")) if spec.get("action") == "notify" else None
        if target is not None:
            yield StepReference(owner, target, "hook target", (*path, index))


def artifact_references(data: Mapping[str, Any], kind: str | None) -> Iterator[ArtifactReference]:
    """Every text of a document that stands where an artifact may be named, inline prose included."""
    if kind == "Workflow":
        yield from _workflow_artifacts(WorkflowView(data))
    elif kind == "Artifact":
        for index, check in enumerate(items(mapping(data.get("spec")).get("checks"))):
            yield from _one(mapping(check).get("criteria"), "criteria", ("spec", "checks", index, "criteria"))
    elif kind == "WorkflowTest":
        for index, entry in judged_assertions(data):
            yield from _one(entry.get("criteria"), "criteria", ("spec", "expect", "judge", index, "criteria"))


def judged_assertions(data: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The assertions of a WorkflowTest that a model judges: position, entry."""
    for index, entry in enumerate(items(mapping(mapping(data.get("spec")).get("expect")).get("judge"))):
        yield index, mapping(entry)


def _workflow_artifacts(workflow: WorkflowView) -> Iterator[ArtifactReference]:
    yield from _each(workflow.spec.get("hooks"), "hooks", ("spec", "hooks"))
    judge = mapping(mapping(workflow.spec.get("supervisor")).get("judge"))
    yield from _one(judge.get("criteria"), "criteria", ("spec", "supervisor", "judge", "criteria"))
    for step in workflow.steps:
        yield from _each(step.data.get("hooks"), "hooks", (*step.path, "hooks"))
        if step.kind == "MCP":
            yield from _one(step.get("mcp", "server"), "mcp.server", (*step.path, "mcp", "server"))
        elif step.kind == "Agent":
            yield from _agent_artifacts(step)


def _agent_artifacts(step: StepView) -> Iterator[ArtifactReference]:
    path = (*step.path, "agent")
    for site in ("system", "prompt", "steering"):
        yield from _one(step.agent.get(site), site, (*path, site))
    yield from _each(step.agent.get("skills"), "skills", (*path, "skills"))
    for site, entries in mapping(step.agent.get("guardrails")).items():
        yield from _each(entries, "guardrails", (*path, "guardrails", site))


def _one(value: object, site: str, path: KeyPath) -> Iterator[ArtifactReference]:
    if isinstance(value, str):
        yield ArtifactReference(value, site, path)


def _each(values: object, site: str, path: KeyPath) -> Iterator[ArtifactReference]:
    for index, value in enumerate(items(values)):
        yield from _one(value, site, (*path, index))
