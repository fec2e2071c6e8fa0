"""A workflow document and its project → an `ExecutionPlan`, in which every name is resolved."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from tuvl.analysis.effects import effects_of
from tuvl.analysis.fault import Fault
from tuvl.analysis.faults import price_faults, workflow_faults
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.policy_faults import policy_faults
from tuvl.analysis.references import artifact_references
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.artifacts.reference import SITE_TYPES
from tuvl.errors import ConfigError, TemplateError
from tuvl.plan.accepted import refused
from tuvl.plan.compile_hooks import compile_hooks, hooks_of_step
from tuvl.plan.compile_limits import run_limits
from tuvl.plan.compile_schema import compile_schema
from tuvl.plan.compile_steps import compile_action, dot_path
from tuvl.plan.compile_supervisor import compile_supervisor
from tuvl.plan.hooks import HookPlan
from tuvl.plan.model import ExecutionPlan, StepPlan, SubWorkflowPlan
from tuvl.plan.project import PlanProject
from tuvl.plan.usable import refuse_unusable
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.spec.build import build_as
from tuvl.spec.kinds import HumanStep, Step
from tuvl.spec.workflow import Workflow

SHOWN_FAULTS = 3


def compile_workflow(
    document: Document, project: ProjectIndex, *, models: Mapping[str, str] | None = None
) -> ExecutionPlan:
    """Compile a workflow.

    `models` replaces models by the name that agents call them by, for this plan only: name → preset or provider
    string. Raises `ConfigError` for every mistake that `tuvl validate` reports as an error. What is sound and cannot
    run here is told by `refusals` of the plan.
    """
    return _compile(document, project, models or {}, {})


def _compile(
    document: Document, project: ProjectIndex, models: Mapping[str, str], done: dict[str, ExecutionPlan]
) -> ExecutionPlan:
    """Compile a workflow and those it runs as steps; `done` holds the ones that are compiled already.

    A workflow that ends up calling itself is a fault of each on the way, so that this comes to an end.
    """
    workflow = build_as(document, Workflow)
    view = WorkflowView(mapping(document.data))
    _refuse_repeated_ids(view, document)
    graph = route_graph(view, project)
    faults = [*workflow_faults(view, project, graph), *price_faults(view, project, models)]
    _refuse_faults(list(refused(faults, document, project)), document)

    refuse_unusable(document, project)

    def sub_plan(name: str) -> ExecutionPlan:
        if name not in done:
            called = project.workflow(name)
            if called is None:
                raise ConfigError(f"there is no workflow {name!r}")
            done[name] = _compile(called, project, models, done)
        return done[name]

    resolver = PlanProject(project, models, sub_plan)
    try:
        _refuse_artifacts(view, resolver)
        steps = _steps(workflow, view, graph, resolver)
        return _plan(workflow, view, graph, resolver, steps)
    except (ConfigError, TemplateError) as error:
        raise ConfigError(f"{document.file}: {error}") from error


def _plan(
    workflow: Workflow, view: WorkflowView, graph: RouteGraph, project: PlanProject, steps: Mapping[str, StepPlan]
) -> ExecutionPlan:
    spec, settings = workflow.spec, project.settings
    if graph.entry is None:
        raise ConfigError("no step is on the spine: each is only referred to by others, so a run has no beginning")
    return ExecutionPlan(
        workflow=workflow.metadata.name,
        schema_version=workflow.metadata.schema_version,
        entry=graph.entry,
        steps=steps,
        limits=run_limits(spec.limits, settings.limits, settings.policy),
        input_schema=None if spec.input is None else compile_schema(spec.input, where="`spec.input`"),
        output=None if spec.output is None else dot_path(spec.output, where="`spec.output`"),
        required_scope=workflow.metadata.required_scope,
        required_group=workflow.metadata.required_group,
        hooks=tuple(hook for hook in _workflow_hooks(workflow, project) if hook.on == "on_stop"),
        durable=spec.durable,
        supervisor=compile_supervisor(spec.supervisor, project),
        refusals=(*_unrunnable(view, project), *project.refusals, *_of_nested(steps)),
    )


def _steps(workflow: Workflow, view: WorkflowView, graph: RouteGraph, project: PlanProject) -> Mapping[str, StepPlan]:
    hooks = _workflow_hooks(workflow, project)
    return {
        step.id: StepPlan(
            id=step.id,
            kind=step.kind,
            action=compile_action(step, view, project),
            routes=step.routes,
            next=graph.next_of(step.id),
            effects=effects_of(view.by_id[step.id], project.index),
            keyed=step.idempotency_key is not None,
            timeout_s=step.timeout_s,
            hooks=hooks_of_step(
                hooks, compile_hooks(step.hooks, where=f"step {step.id!r} field 'hooks", project=project)
            ),
            required_scope=_right(step, "required_scope"),
            required_group=_right(step, "required_group"),
        )
        for step in workflow.spec.steps
    }


def _workflow_hooks(workflow: Workflow, project: PlanProject) -> tuple[HookPlan, ...]:
    return compile_hooks(workflow.spec.hooks, where="field 'spec.hooks", project=project)


def _right(step: Step, name: Literal["required_scope", "required_group"]) -> str | None:
    """Return what a step asks of its caller; `auth` of a question to a person is about who answers."""
    if isinstance(step, HumanStep) or step.auth is None:
        return None
    return step.auth.required_scope if name == "required_scope" else step.auth.required_group


def _unrunnable(view: WorkflowView, project: PlanProject) -> list[str]:
    """Say what a sound workflow asks for that the project's policy does not give."""
    return [fault.message for fault in policy_faults(view, project.index, project.models)]


def _of_nested(steps: Mapping[str, StepPlan]) -> list[str]:
    """Say why a workflow that is run as a step cannot run."""
    plans = {
        step.action.plan.workflow: step.action.plan
        for step in steps.values()
        if isinstance(step.action, SubWorkflowPlan)
    }
    return [f"workflow {name!r}: {refusal}" for name, plan in plans.items() for refusal in plan.refusals]


def _refuse_repeated_ids(view: WorkflowView, document: Document) -> None:
    repeated = [name for name, count in Counter(step.id for step in view.steps).items() if count > 1]
    if repeated:
        raise ConfigError(f"{document.file}: {len(repeated)} step ids are used twice, {repeated[0]!r} for one")


def _refuse_faults(faults: Sequence[Fault], document: Document) -> None:
    if not faults:
        return
    shown = "; ".join(
        f"line {document.locate(fault.path, key=fault.at_key).start.line}: {fault.message}"
        for fault in faults[:SHOWN_FAULTS]
    )
    more = f" (and {len(faults) - SHOWN_FAULTS} more)" if len(faults) > SHOWN_FAULTS else ""
    raise ConfigError(f"{document.file}: {shown}{more}; `tuvl validate` shows every mistake with its place")


def _refuse_artifacts(view: WorkflowView, project: PlanProject) -> None:
    """Look at the references that no compiled text needs: guardrails, hooks, servers, criteria."""
    for reference in artifact_references(dict(view.data), "Workflow"):
        if not reference.is_reference:
            continue
        found = project.index.resolve(reference.text)
        if found is None:
            raise ConfigError(f"there is no artifact {reference.text!r}")
        if found.type not in SITE_TYPES[reference.site]:
            wanted = " or ".join(SITE_TYPES[reference.site])
            raise ConfigError(f"{reference.text!r} is of type {found.type!r}; {reference.site!r} takes {wanted}")
