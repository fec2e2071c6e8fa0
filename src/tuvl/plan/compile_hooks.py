"""Hook artifacts → `HookPlan`: those of the workflow and those of a step, merged."""

from collections.abc import Iterator, Sequence

from tuvl.errors import ConfigError
from tuvl.plan.hooks import HookPlan
from tuvl.plan.project import PlanProject
from tuvl.spec.artifact import LogHook, NotifyHook


def compile_hooks(references: Sequence[str], *, where: str, project: PlanProject) -> tuple[HookPlan, ...]:
    """Compile a list of references, each once."""
    return tuple({plan.artifact: plan for plan in _hooks(references, where, project)}.values())


def _hooks(references: Sequence[str], where: str, project: PlanProject) -> Iterator[HookPlan]:
    for index, reference in enumerate(references):
        place = f"{where}[{index}]'"
        name, spec = project.structured(reference, site="hooks", where=place)
        match spec:
            case LogHook(on=on, action=action):
                yield HookPlan(artifact=name, on=on, action=action)
            case NotifyHook(on=on, target=target):
                yield HookPlan(artifact=name, on=on, action="notify", target=target)
            case _:
                raise ConfigError(f"{place}: {reference!r} is no hook")


def hooks_of_step(of_workflow: Sequence[HookPlan], own: Sequence[HookPlan]) -> tuple[HookPlan, ...]:
    """Merge: the workflow's hooks come first, one attached twice fires once.

    `on_stop` of the workflow is about the run and stays with it.
    """
    merged = {plan.artifact: plan for plan in of_workflow if plan.on != "on_stop"}
    return tuple((merged | {plan.artifact: plan for plan in own}).values())
