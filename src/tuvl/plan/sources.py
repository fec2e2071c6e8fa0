"""The databases that a plan writes to."""

from tuvl.data.model import SourcePlan
from tuvl.plan.model import ExecutionPlan, ModelOpPlan


def sources_written(plan: ExecutionPlan) -> tuple[SourcePlan, ...]:
    """Return the data sources that operations of a plan, and of those inside it, may write to, each once."""
    steps = (step for inside in plan.with_nested() for step in inside.steps.values() if step.effects != "read")
    sources = (step.action.model.source for step in steps if isinstance(step.action, ModelOpPlan))
    return tuple({source.name: source for source in sources}.values())
