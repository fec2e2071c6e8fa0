"""Every place of a document that names something: what kind of thing, and where that thing is made."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from tuvl.analysis.key_reads import key_reads
from tuvl.analysis.references import artifact_references, judged_assertions, step_references
from tuvl.analysis.steps import END, StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import ALONE
from tuvl.dataclass import dataclass
from tuvl.spec.schema_files import PROSE
from tuvl.values import JsonValue, KeyPath

Role: TypeAlias = Literal[
    "step", "signal", "key", "node", "artifact", "Workflow", "AgentModel", "ModelDefinition", "DataSource"
]
"""What a name means; the names of document kinds mean the document of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One place that names something."""

    role: Role
    text: str
    path: KeyPath
    at_key: bool = False
    """Whether the key at the path is the name, not its value."""
    defines: bool = False
    """Whether the place is where it is made."""
    site: str = ""
    """For an artifact, the kind of place, as `artifacts.reference.SITE_TYPES` calls it."""
    step: str = ""
    """For a signal or a key, the step that the place belongs to."""
    workflow: str | None = None
    """For a step of another document, the workflow it is of."""


_NAMING_KEYS = ("condition.field", "match.field", "source", "agent.context_injection", "ui.display_context")
"""Fields of steps that name a context key, without a template."""

_DEFINING: Mapping[str, Role] = {
    "Workflow": "Workflow",
    "AgentModel": "AgentModel",
    "ModelDefinition": "ModelDefinition",
    "DataSource": "DataSource",
    "Artifact": "artifact",
}


def names_in(data: JsonValue, kind: str | None) -> Iterator[Name]:
    """Yield every name of a document, whatever state it is in."""
    whole = mapping(data)
    spec = mapping(whole.get("spec"))
    if kind == PROSE:
        yield from _one("artifact", whole.get("name"), ("name",), defines=True)
    elif kind is not None and kind in _DEFINING:
        yield from _one(_DEFINING[kind], mapping(whole.get("metadata")).get("name"), ("metadata", "name"), defines=True)
    for reference in artifact_references(dict(whole), kind):
        yield Name(role="artifact", text=reference.text, path=reference.path, site=reference.site)
    match kind:
        case "Workflow":
            yield from _in_workflow(WorkflowView(whole))
        case "WorkflowTest":
            yield from _in_scenario(spec)
        case "Artifact":
            for index, check in enumerate(items(spec.get("checks"))):
                yield from _one("AgentModel", mapping(check).get("model"), ("spec", "checks", index, "model"))
        case "ModelDefinition":
            yield from _one("DataSource", spec.get("datasource"), ("spec", "datasource"))
            for index, relation in enumerate(items(spec.get("relations"))):
                path = ("spec", "relations", index, "model")
                yield from _one("ModelDefinition", mapping(relation).get("model"), path)
        case "ProjectConfig":
            yield from _one("AgentModel", spec.get("default_model"), ("spec", "default_model"))


def _one(role: Role, value: object, path: KeyPath, *, defines: bool = False) -> Iterator[Name]:
    if isinstance(value, str) and value:
        yield Name(role=role, text=value, path=path, defines=defines)


def _in_workflow(workflow: WorkflowView) -> Iterator[Name]:
    spec = workflow.spec
    judge = mapping(mapping(spec.get("supervisor")).get("judge"))
    yield from _one("AgentModel", judge.get("model"), ("spec", "supervisor", "judge", "model"))
    for index, agent in enumerate(items(mapping(spec.get("supervisor")).get("watches"))):
        yield from _one("step", agent, ("spec", "supervisor", "watches", index))
    yield from _data_models(spec.get("context"), ("spec", "context"))
    yield from _one("key", (text(spec.get("output")) or "").split(".")[0], ("spec", "output"))
    for reference in step_references(workflow, ALONE):
        yield Name(role="step", text=reference.target, path=reference.path)
    for step in workflow.steps:
        yield from _in_step(step)


def _data_models(value: object, path: KeyPath) -> Iterator[Name]:
    yield from _one("ModelDefinition", value, path)
    for index, name in enumerate(items(value)):
        yield from _one("ModelDefinition", name, (*path, index))
    for index, entry in enumerate(items(mapping(value).get("models"))):
        yield from _one("ModelDefinition", mapping(entry).get("name"), (*path, "models", index, "name"))


def _in_step(step: StepView) -> Iterator[Name]:
    path = step.path
    yield from _one("step", step.data.get("id"), (*path, "id"), defines=True)
    for signal, target in mapping(step.data.get("routes")).items():
        place = (*path, "routes", signal)
        yield Name(role="signal", text=signal, path=place, at_key=True, step=step.id)
        if target != END:
            yield from _one("step", target, place)
    for read in key_reads(step, ALONE):
        if read.field in _NAMING_KEYS or (step.kind == "Response" and read.field.startswith("mapping.")):
            yield Name(role="key", text=read.key, path=read.place, step=step.id)
    match step.kind:
        case "Functional":
            yield from _one("node", step.data.get("runner"), (*path, "runner"))
        case "Workflow":
            yield from _one("Workflow", step.data.get("workflow"), (*path, "workflow"))
        case "ModelOp":
            yield from _one("ModelDefinition", step.data.get("model"), (*path, "model"))
        case "Router":
            yield from _signals(
                step,
                [
                    (("when", index, "signal"), mapping(case).get("signal"))
                    for index, case in enumerate(items(step.data.get("when")))
                ],
            )
        case "Agent":
            yield from _in_agent(step)


def _in_agent(step: StepView) -> Iterator[Name]:
    path = (*step.path, "agent")
    yield from _one("AgentModel", step.agent.get("model"), (*path, "model"))
    yield from _one("AgentModel", mapping(step.agent.get("compaction")).get("model"), (*path, "compaction", "model"))
    values = items(mapping(step.agent.get("outcome")).get("enum"))
    yield from _signals(step, [(("agent", "outcome", "enum", index), value) for index, value in enumerate(values)])


def _signals(step: StepView, found: list[tuple[KeyPath, object]]) -> Iterator[Name]:
    for path, value in found:
        if isinstance(value, str) and value:
            yield Name(role="signal", text=value, path=(*step.path, *path), step=step.id)


def _in_scenario(spec: Mapping[str, Any]) -> Iterator[Name]:
    workflow = text(spec.get("workflow"))
    yield from _one("Workflow", workflow, ("spec", "workflow"))
    for name in mapping(spec.get("models")):
        yield Name(role="AgentModel", text=name, path=("spec", "models", name), at_key=True)
    for index, entry in judged_assertions({"spec": spec}):
        yield from _one("AgentModel", entry.get("model"), ("spec", "expect", "judge", index, "model"))
    for path, value, at_key in _steps_of_scenario(spec):
        if isinstance(value, str) and value:
            yield Name(role="step", text=value, path=path, at_key=at_key, workflow=workflow)


def _steps_of_scenario(spec: Mapping[str, Any]) -> Iterator[tuple[KeyPath, object, bool]]:
    for field in ("stubs", "answers"):
        for name in mapping(spec.get(field)):
            yield ("spec", field, name), name, True
    for index, name in enumerate(items(spec.get("allow_effects"))):
        yield ("spec", "allow_effects", index), name, False
    expect = mapping(spec.get("expect"))
    for index, name in enumerate(items(expect.get("steps"))):
        yield ("spec", "expect", "steps", index), name, False
    for index, call in enumerate(items(expect.get("calls"))):
        path = ("spec", "expect", "calls", index)
        yield path, call, False
        yield (*path, "tool"), mapping(call).get("tool"), False
