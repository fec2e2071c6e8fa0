"""One step of any kind → the action it stands for."""

from typing import Literal, assert_never

from tuvl.analysis.steps import WorkflowView
from tuvl.errors import ConfigError
from tuvl.http.url import compile_url
from tuvl.plan.compile_agent import compile_autonomous, compile_completion
from tuvl.plan.compile_mcp import compile_mcp
from tuvl.plan.compile_model_op import compile_model_op
from tuvl.plan.model import (
    Action,
    ApiCallPlan,
    ConditionPlan,
    FailPlan,
    ForEachPlan,
    FunctionalPlan,
    HumanPlan,
    LogPlan,
    MatchPlan,
    ResponsePlan,
    SetPlan,
    SubWorkflowPlan,
    WaitPlan,
    WhenPlan,
)
from tuvl.plan.project import PlanProject
from tuvl.spec.agent import AutonomousStep, CompletionStep
from tuvl.spec.kinds import (
    ApiCallStep,
    FailStep,
    ForEachStep,
    FunctionalStep,
    HumanStep,
    LogStep,
    McpStep,
    ModelOpStep,
    ResponseStep,
    RouterStep,
    SetStep,
    Step,
    WaitStep,
    WorkflowStep,
)
from tuvl.templating.render import compile_template, compile_tree
from tuvl.values import to_json


def compile_action(step: Step, workflow: WorkflowView, project: PlanProject) -> Action:
    """Compile what a step does; raises `ConfigError` or `TemplateError`."""
    match step:
        case FunctionalStep() | SetStep() | WaitStep() | FailStep() | LogStep():
            return _functional(step, project)
        case ApiCallStep():
            return _api_call(step, project)
        case RouterStep():
            return _router(step)
        case ResponseStep():
            return _response(step)
        case CompletionStep():
            return compile_completion(step, workflow, project)
        case AutonomousStep():
            return compile_autonomous(step, workflow, project)
        case ModelOpStep():
            return compile_model_op(step, workflow, project)
        case WorkflowStep():
            return _sub_workflow(step, project)
        case ForEachStep():
            return _for_each(step)
        case McpStep():
            return compile_mcp(step, project)
        case HumanStep():
            return _human(step)
        case _:
            assert_never(step)


def _functional(step: FunctionalStep | SetStep | WaitStep | FailStep | LogStep, project: PlanProject) -> Action:
    match step:
        case SetStep():
            return SetPlan(values=compile_tree(step.values, where=_where(step, "values")))
        case WaitStep(seconds=seconds):
            where = _where(step, "seconds")
            return WaitPlan(seconds=compile_template(seconds, where=where) if isinstance(seconds, str) else seconds)
        case FailStep():
            return FailPlan(message=compile_template(step.message, where=_where(step, "message")))
        case LogStep():
            return LogPlan(message=compile_template(step.message, where=_where(step, "message")), level=step.level)
        case FunctionalStep():
            facts = project.index.nodes.declared[step.runner]
            file = project.index.nodes.folder / facts.file.rpartition("/")[2]
            return FunctionalPlan(
                runner=step.runner,
                file=str(file.absolute()),
                source=project.index.raw(file) or b"",
                code=project.node_code,
                params=compile_tree(step.params, where=_where(step, "params")),
            )
        case _:
            assert_never(step)


def _api_call(step: ApiCallStep, project: PlanProject) -> ApiCallPlan:
    http, policy = step.http, project.settings
    bodies: dict[Literal["json", "form", "body"], object] = {"json": http.json_, "form": http.form, "body": http.body}
    kind = next((name for name, value in bodies.items() if value is not None), None)
    body = None if kind is None else compile_tree(to_json(bodies[kind]), where=_where(step, f"http.{kind}"))
    key = step.idempotency_key
    return ApiCallPlan(
        spec=step,
        url=compile_url(http.url, where=_where(step, "http.url")),
        headers=compile_tree(dict(http.headers), where=_where(step, "http.headers")),
        query=compile_tree(to_json(http.query), where=_where(step, "http.query")),
        body=body,
        body_kind=kind,
        idempotency_key=None if key is None else compile_template(key, where=_where(step, "idempotency_key")),
        allow_hosts=policy.http.allow_hosts,
        deny_private=policy.http.deny_private,
        only_hosts=policy.policy.allow_hosts,
    )


def _human(step: HumanStep) -> HumanPlan:
    ui, assignee = step.ui, None if step.auth is None else step.auth.assignee_user
    return HumanPlan(
        spec=step,
        title=compile_template(ui.title, where=_where(step, "ui.title")),
        instruction=None
        if ui.instruction is None
        else compile_template(ui.instruction, where=_where(step, "ui.instruction")),
        assignee=None if assignee is None else compile_template(assignee, where=_where(step, "auth.assignee_user")),
        output_key=step.output_key or f"{step.id}_result",
    )


def _router(step: RouterStep) -> ConditionPlan | MatchPlan | WhenPlan:
    if step.condition is not None:
        condition = step.condition
        return ConditionPlan(
            field=dot_path(condition.field, where=_where(step, "condition.field")),
            operator=condition.operator,
            value=condition.value,
        )
    if step.match is not None:
        return MatchPlan(field=dot_path(step.match.field, where=_where(step, "match.field")))
    cases = step.when or ()
    return WhenPlan(
        cases=tuple(
            (compile_template(case.if_, where=_where(step, f"when[{index}].if")), case.signal)
            for index, case in enumerate(cases)
        )
    )


def _response(step: ResponseStep) -> ResponsePlan:
    if step.source is not None:
        return ResponsePlan(source=dot_path(step.source, where=_where(step, "source")))
    mapping = {
        name: dot_path(path, where=_where(step, f"mapping.{name}")) for name, path in (step.mapping or {}).items()
    }
    return ResponsePlan(mapping=mapping)


def _sub_workflow(step: WorkflowStep, project: PlanProject) -> SubWorkflowPlan:
    return SubWorkflowPlan(
        plan=project.sub_plan(step.workflow),
        input=compile_tree(step.input, where=_where(step, "input")),
        output_key=step.output_key or f"{step.id}_result",
    )


def _for_each(step: ForEachStep) -> ForEachPlan:
    items = step.items if isinstance(step.items, str) else list(step.items)
    return ForEachPlan(
        items=compile_tree(to_json(items), where=_where(step, "items")),
        name=step.as_,
        step=step.step,
        output_key=step.output_key or f"{step.id}_result",
        concurrency=step.concurrency,
        max_items=step.max_items,
    )


def dot_path(text: str, *, where: str) -> tuple[str, ...]:
    """Read a dot path; raises `ConfigError` for one with an empty segment."""
    path = tuple(text.split("."))
    if not all(path):
        raise ConfigError(f"{where}: {text!r} is no dot path; write e.g. order.items.0.price")
    return path


def _where(step: Step, field: str) -> str:
    return f"step {step.id!r} field {field!r}"
