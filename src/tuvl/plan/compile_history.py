"""What an agent does with a long conversation, and whom it asks around a model call: fields → plans."""

from tuvl.plan.model import CompactionPlan, ConcludePlan, ContextLimits, ModelPlan, ReservePlan
from tuvl.plan.project import PlanProject
from tuvl.spec import agent as spec


def compile_conclude(conclude: spec.Conclude | None) -> ConcludePlan | None:
    """Compile `conclude`."""
    if conclude is None:
        return None
    notice = {} if conclude.notice is None else {"notice": conclude.notice}
    return ConcludePlan(
        margin=conclude.margin, deadline_s=conclude.deadline_s, offer_tools=conclude.offer_tools, **notice
    )


def compile_compaction(
    step_id: str, agent: spec.AutonomousAgent, model: ModelPlan, project: PlanProject
) -> CompactionPlan | None:
    """Compile `compaction`.

    One without a window is refused here when it is a model named for this run alone that has none.
    """
    given = agent.compaction
    if given is None:
        return None
    preset = None if model.preset is None else model.preset.spec
    window = given.max_tokens or (preset and preset.context_window)
    if not window:
        project.refusals.append(
            f"step {step_id!r}: `agent.compaction` has no window to keep to; give it `max_tokens`, or the model"
            f" {model.name!r} a `context_window`"
        )
        return None
    reserve = given.reserve or agent.max_output_tokens or (preset and preset.max_tokens) or 0
    if reserve >= window:
        project.refusals.append(
            f"step {step_id!r}: `agent.compaction` keeps {reserve} of {window} tokens free, which leaves no room for"
            " messages; lower `reserve` or raise `max_tokens`"
        )
    return CompactionPlan(
        max_tokens=window,
        reserve=reserve,
        trigger_percent=given.trigger_percent,
        target_percent=given.target_percent,
        recent_tail=given.recent_tail,
        preserve=frozenset(given.preserve),
        model=None if given.model is None else project.model(given.model, step=step_id),
        calibrate=given.calibrate,
    )


def compile_context_limits(limits: spec.ContextLimits | None) -> ContextLimits | None:
    """Compile `context_limits`."""
    return None if limits is None else ContextLimits(max_bytes=limits.max_bytes, max_messages=limits.max_messages)


def compile_reserve(reserve: spec.Reserve | None) -> ReservePlan | None:
    """Compile `reserve`."""
    if reserve is None:
        return None
    return ReservePlan(reserve=reserve.reserve, refund=reserve.refund, observe_request=reserve.observe_request)
