"""What is wrong with the names a workflow uses: tools, bodies, helpers, nodes, data models, hooks, sub-workflows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.references import StepReference, artifact_references, tool_entries
from tuvl.analysis.route_faults import MOST_GUESSES
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, hidden
from tuvl.suggest import certain, closest
from tuvl.values import KeyPath

TOOL_KINDS = ("APICall", "MCP", "ModelOp", "Router", "Functional", "Workflow")
"""Step kinds that can be an agent's tool."""

_ROLE_KINDS = {"tool": TOOL_KINDS, "agent helper": ("Functional",)}
_ROLE_NAMES = {"tool": "tool", "agent helper": "helper", "ForEach body": "body"}


def bad_step_references(workflow: WorkflowView, references: tuple[StepReference, ...]) -> Iterator[Fault]:
    """References to steps that are not there, to the referring step itself, or to a step of the wrong kind."""
    guesses = MOST_GUESSES
    for reference in references:
        if reference.role == "hook target":
            continue
        name = _ROLE_NAMES[reference.role]
        target = workflow.by_id.get(reference.target)
        if target is None:
            yield Fault(
                reference.path,
                f"{name} {reference.target!r} of step {reference.owner!r} is no step of this workflow",
                _near(reference.target, workflow.by_id if guesses > 0 else ()) or "name a step of this workflow",
                replacement=_meant(reference, workflow) if guesses > 0 else None,
            )
            guesses -= 1
        elif reference.target == reference.owner:
            yield Fault(
                reference.path,
                f"step {reference.owner!r} names itself as its {name}",
                "name another step",
            )
        elif target.kind is not None and target.kind not in _ROLE_KINDS.get(reference.role, (target.kind,)):
            yield Fault(
                reference.path,
                f"{name} {reference.target!r} of step {reference.owner!r} is of kind {target.kind!r}, "
                f"which cannot be a {name}",
                f"a {name} is one of: {', '.join(_ROLE_KINDS[reference.role])}",
            )
    yield from _endless_bodies(workflow)
    yield from _unknown_preserved(workflow)


def _meant(reference: StepReference, workflow: WorkflowView) -> str | None:
    """Return the step that a misspelt reference must mean, if it can be referred to this way."""
    name = certain(reference.target, workflow.by_id)
    if name is None or name == reference.owner:
        return None
    kind = workflow.by_id[name].kind
    return name if kind in _ROLE_KINDS.get(reference.role, (kind,)) else None


def _unknown_preserved(workflow: WorkflowView) -> Iterator[Fault]:
    """Names in `compaction.preserve` that are no tools of the agent: nothing would be kept for them."""
    for step in workflow.steps:
        tools = [ref for _, ref, _ in tool_entries(step)]
        for index, name in enumerate(items(mapping(step.agent.get("compaction")).get("preserve"))):
            if isinstance(name, str) and name not in tools:
                yield Fault(
                    (*step.path, "agent", "compaction", "preserve", index),
                    f"`compaction.preserve` of step {step.id!r} names {name!r}, which is none of its tools",
                    _near(name, tools) or f"its tools are {', '.join(tools)}",
                )


def _endless_bodies(workflow: WorkflowView) -> Iterator[Fault]:
    """ForEach steps that are each other's body."""
    bodies = {step.id: text(step.data.get("step")) for step in workflow.steps if step.kind == "ForEach"}
    done: set[str] = set()
    for start in bodies:
        way: dict[str, None] = {}
        step: str | None = start
        while step in bodies and step not in way and step not in done:
            way[step] = None
            step = bodies[step]
        if step in way and len(way) > 1 and bodies[step] != step:
            yield Fault(
                (*workflow.by_id[step].path, "step"),
                f"the ForEach steps {' and '.join(map(repr, way))} are each other's body",
                "let one of them name a step that does the work",
            )
        done.update(way)


def unknown_nodes(step: StepView, project: Surroundings) -> Iterator[Fault]:
    """A `runner:` that names neither a built-in nor a node of the project."""
    runner = text(step.data.get("runner"))
    if step.kind != "Functional" or not runner or runner in BUILT_IN_NODES or runner in project.nodes.declared:
        return
    hint = _near(runner, (*project.nodes.declared, *BUILT_IN_NODES))
    broken = [problem.file for problem in project.nodes.problems]
    if hint is None and broken:
        hint = f"{broken[0]!r} has a mistake that may hide it (`tuvl validate` of the project shows it)"
    yield Fault(
        (*step.path, "runner"),
        f"runner {runner!r} of step {step.id!r} is no node found in the nodes folder, and no built-in one",
        hint or f'declare it in a file of the nodes folder: `@node("{runner}")`',
        replacement=None if broken else certain(runner, (*project.nodes.declared, *BUILT_IN_NODES)),
    )


def allowed_data_models(workflow: WorkflowView) -> dict[str, KeyPath]:
    """Data models that the workflow's `context:` names, and where."""
    context = workflow.spec.get("context")
    path: KeyPath = ("spec", "context")
    if isinstance(context, str):
        return {context: path}
    if isinstance(context, dict):
        path = (*path, "models")
        context = context.get("models")
    found: dict[str, KeyPath] = {}
    for index, entry in enumerate(items(context)):
        name = entry if isinstance(entry, str) else text(mapping(entry).get("name"))
        if name:
            found.setdefault(name, (*path, index) if isinstance(entry, str) else (*path, index, "name"))
    return found


def unknown_data_models(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """ModelOp steps on a model that is not defined or not in `context:`, and other names there that nothing defines."""
    allowed = allowed_data_models(workflow)
    used: set[str] = set()
    for step in workflow.steps:
        name = text(step.data.get("model")) if step.kind == "ModelOp" else None
        if not name:
            continue
        used.add(name)
        defined = project.data_model(name) is not None
        if not defined or name not in allowed:
            yield Fault(
                (*step.path, "model"),
                f"data model {name!r} of step {step.id!r} is "
                + ("not in the workflow's `context:`" if defined else "not defined"),
                _not_listed_hint(name, allowed) if defined else _model_hint(name, project, near=allowed),
            )
    for name, path in allowed.items():
        if name not in used and project.data_model(name) is None:
            yield Fault(path, f"data model {name!r} is not defined", _model_hint(name, project))


def _not_listed_hint(name: str, allowed: Iterable[str]) -> str:
    return _near(name, allowed) or f"add {name!r} to `spec.context`"


def _model_hint(name: str, project: Surroundings, *, near: Iterable[str] = ()) -> str:
    return hidden(name, project) or _near(name, near) or f"add a `kind: ModelDefinition` document named {name!r}"


def bad_hook_targets(workflow: WorkflowView, references: tuple[StepReference, ...]) -> Iterator[Fault]:
    """`notify` hooks whose target is no APICall step of this workflow."""
    for reference in references:
        if reference.role != "hook target":
            continue
        target = workflow.by_id.get(reference.target)
        if target is None or target.kind != "APICall":
            what = "is no step" if target is None else f"is of kind {target.kind!r}, not an APICall step"
            yield Fault(
                reference.path,
                f"this hook notifies {reference.target!r}, which {what} of this workflow",
                f"add an APICall step {reference.target!r}, or take the hook away"
                if target is None
                else "let the hook's `target` name an APICall step",
            )


_NO_INLINE = frozenset({"hooks", "mcp.server"})
"""Sites that take nothing but a reference; guardrails are looked at with their agent."""


def misspelt_references(data: Mapping[str, Any], kind: str | None) -> Iterator[Fault]:
    """Texts that stand where only a reference may stand, or set out to be one, and do not begin as one does."""
    for reference in artifact_references(data, kind):
        meant = reference.site in _NO_INLINE or reference.text.startswith("artifact:")
        if meant and not reference.is_reference:
            yield Fault(
                reference.path,
                f"{reference.text!r} is no artifact reference",
                "write `artifact://<name>@<version>`; the version is a whole number from 1",
            )


def called_workflows(workflow: WorkflowView) -> Iterator[tuple[StepView, str]]:
    """The Workflow steps of a workflow, each with the name it calls."""
    for step in workflow.steps:
        name = text(step.data.get("workflow")) if step.kind == "Workflow" else None
        if name:
            yield step, name


def unknown_workflows(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Workflow steps that call a workflow that is not there."""
    for step, name in called_workflows(workflow):
        if name != workflow.name and project.workflow(name) is None:
            yield Fault(
                (*step.path, "workflow"),
                f"step {step.id!r} runs workflow {name!r}, which this project does not have",
                hidden(name, project) or f"add a `kind: Workflow` document named {name!r}, or name one that is there",
            )


def workflow_cycles(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Workflow steps through which the workflow would end up calling itself."""
    for step, name in called_workflows(workflow):
        chain = _chain_back(workflow, name, project)
        if chain is not None:
            yield Fault(
                (*step.path, "workflow"),
                f"workflow {workflow.name!r} calls itself: {' → '.join((workflow.name, *chain))}",
                "take one of these calls away: a loop belongs into `routes:` of one workflow",
            )


def _chain_back(workflow: WorkflowView, first: str, project: Surroundings) -> list[str] | None:
    """Names of the workflows called on the way from `first` back to `workflow`, that one included."""
    came_from: dict[str, str | None] = {first: None}
    waiting = [first]
    while waiting:
        name = waiting.pop(0)
        if name == workflow.name:
            return _way(name, came_from)
        document = project.workflow(name)
        data: Any = document.data if document is not None else None
        for _, called in called_workflows(WorkflowView(mapping(data))):
            if called not in came_from:
                came_from[called] = name
                waiting.append(called)
    return None


def _way(name: str, came_from: dict[str, str | None]) -> list[str]:
    way = [name]
    while (before := came_from[way[-1]]) is not None:
        way.append(before)
    return way[::-1]


def _near(name: str, known: Any) -> str | None:
    match = closest(name, known)
    return None if match is None else f"did you mean {match!r}?"
