"""How long an agent may take: every call until its timeout, every wait in full. Approvals and pauses are left out."""

from collections.abc import Mapping

from tuvl.analysis.agent_fields import AgentFields
from tuvl.analysis.amount import NOTHING, Amount, exactly, highest
from tuvl.analysis.effects import effects_of
from tuvl.analysis.judges import ATTEMPTS, BACKOFF_S
from tuvl.analysis.language_models import positive
from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.scope import Scope
from tuvl.analysis.steps import StepView, mapping
from tuvl.analysis.waiting import cut_off, helper_seconds, rounds, tool_seconds


def agent_seconds(
    step: StepView,
    fields: AgentFields,
    scope: Scope,
    *,
    tool_calls: Amount,
    judges: tuple[int, int, int],
    nested: Mapping[str, Amount],
    looks: int = 0,
) -> Amount:
    """Seconds of one run; `judges` are those of input, tool results and answer, `nested` the time of workflows.

    `looks` says how often the judge of a supervisor is asked.
    """
    of_input, of_results, of_answer = judges
    attempts = scope.measure.attempts(fields.attempts)
    judge = _repeated(scope.measure.attempts(ATTEMPTS), scope.waits.judge_s, BACKOFF_S)
    call = _repeated(attempts, fields.timeout_s, fields.max_backoff_s)
    fixed = fields.iterations * (call + of_answer * judge) + (of_input + looks) * judge
    fixed += fields.model.waits_s(fields.iterations * attempts)
    seconds = exactly(fixed, *_set_by(fields))
    if fields.autonomous:
        compacted = fields.iterations * 3 * call if isinstance(step.agent.get("compaction"), dict) else 0
        seconds += exactly(fields.iterations * _helpers(step, scope, attempts) + compacted)
        seconds += _tools(step, fields, scope, tool_calls, of_results * judge, nested)
        seconds = cut_off(seconds, fields.max_wall_clock_s, "max_wall_clock_s")
    return cut_off(seconds, positive(step.data.get("timeout_s")), "timeout_s of the step")


def _set_by(fields: AgentFields) -> tuple[str, ...]:
    return ("max_iterations", "timeout_s") if fields.autonomous else ("timeout_s",)


def _repeated(attempts: int, timeout_s: float, backoff_s: float) -> float:
    return attempts * timeout_s + (attempts - 1) * backoff_s


def _helpers(step: StepView, scope: Scope, attempts: int) -> float:
    """Seconds of the steps that an agent asks in one turn."""
    agent, reserve = step.agent, mapping(step.agent.get("reserve"))
    once = sum(helper_seconds(agent.get(name), scope) for name in ("trim", "tool_surface", "continue_on_stop"))
    once += sum(helper_seconds(reserve.get(name), scope) for name in ("reserve", "refund"))
    return once + attempts * helper_seconds(reserve.get("observe_request"), scope)


def _tools(
    step: StepView,
    fields: AgentFields,
    scope: Scope,
    tool_calls: Amount,
    judged_s: float,
    nested: Mapping[str, Amount],
) -> Amount:
    uses = tuple(tool_uses(step, scope.workflow))
    longest = highest(_one(use, scope, nested) for use in uses) + exactly(judged_s)
    if not uses:
        return NOTHING
    serial = fields.concurrency == 1 or any(effects_of(use.step, scope.project) == "write" for use in uses)
    count = tool_calls
    if not serial and count.value is not None:
        pace = fields.calls_per_turn(scope.measure).value or 0
        count = exactly(min(count.value, fields.iterations * rounds(pace, fields.concurrency)), *count.by)
    return longest * count


def _one(use: ToolUse, scope: Scope, nested: Mapping[str, Amount]) -> Amount:
    longest = tool_seconds(use.step, positive(use.entry.get("timeout_s")), scope)
    return longest.at_most(nested[use.ref]) if use.ref in nested else longest
