"""`spec.supervisor` → `SupervisorPlan`."""

from tuvl.artifacts.reference import is_reference
from tuvl.errors import ConfigError
from tuvl.plan.project import PlanProject
from tuvl.plan.supervisor import DEFAULT_STEER, JudgePlan, SupervisorPlan
from tuvl.spec.supervisor import Judge, Supervisor

_JUDGE = "field 'spec.supervisor.judge.criteria'"


def compile_supervisor(supervisor: Supervisor | None, project: PlanProject) -> SupervisorPlan | None:
    """Compile the supervisor of a workflow; `None` when there is none, or it would never do anything."""
    if supervisor is None:
        return None
    judge = _judge(supervisor.judge, project)
    if judge is None and not supervisor.rules:
        return None
    return SupervisorPlan(
        watches=frozenset(supervisor.watches),
        rules=supervisor.rules,
        judge=judge,
        steer_message=supervisor.steer_message or DEFAULT_STEER,
    )


def _judge(judge: Judge | None, project: PlanProject) -> JudgePlan | None:
    """Compile the judge; one without a model or without criteria never judges, which the checks warn of."""
    if judge is None or judge.model is None or judge.criteria is None:
        return None
    return JudgePlan(
        model=project.model(judge.model, step="supervisor"),
        criteria=_criteria(judge.criteria, project),
        every_n_iterations=judge.every_n_iterations,
        on_violation=judge.on_violation,
        on_judge_error=judge.on_judge_error,
    )


def _criteria(text: str, project: PlanProject) -> str:
    if not is_reference(text):
        return text.strip()
    project.prose(text, site="criteria", where=_JUDGE)  # refuses what is no text for a judge
    view = project.index.resolve(text)
    if view is None or view.body is None:
        raise ConfigError(f"{_JUDGE}: there is no text behind {text!r}")
    return view.body.strip()
