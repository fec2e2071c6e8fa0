"""Whether the last request of an agent fits its model's window."""

from dataclasses import replace

from tuvl.analysis.amount import exactly
from tuvl.analysis.envelope import agent_envelope
from tuvl.analysis.fault import Fault
from tuvl.analysis.measure import EXPECTED
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.value_sizes import Longest, unknown_sizes


def overflow(
    step: StepView, workflow: WorkflowView, project: Surroundings, longest: Longest = unknown_sizes
) -> Fault | None:
    """Say how far it does not; `None` when it fits, when something shortens it, and when the window is not known.

    What the file leaves open is taken to be small: one tool call a turn, and replies of no length. `longest` tells of
    values that cannot be as long as the context.
    """
    agent = agent_envelope(step, workflow, project, EXPECTED, longest=longest)
    window, fields = agent.fields.model.window, agent.fields
    if window is None or _shortened(step):
        return None
    history = agent.requests.history
    most = fields.max_calls_per_turn or 1
    if fields.output is None:
        history = replace(history, reply=exactly(0))
    if fields.max_calls_per_turn is None:
        history = replace(history, calls_per_turn=exactly(1))
    turns = fields.iterations if fields.autonomous else 1
    size = history.request(turns).value
    if fields.autonomous and fields.token_budget is not None:
        size = history.last_request(turns, exactly(fields.token_budget - 1)).value
    if size is None or size <= window:
        return None
    which = "the request" if turns == 1 else "the last request" if fields.token_budget else f"request {turns}"
    context = f"a context of {longest(()) or agent.scope.context_bytes:,} bytes"
    grown = "" if turns == 1 else f", {most} tool call{'s' if most > 1 else ''} in each turn before it"
    return Fault(
        (*step.path, "agent", "max_iterations") if "max_iterations" in step.agent else (*step.path, "agent"),
        f"{which} of step {step.id!r} may take about {size:,.0f} tokens ({context}{grown}); "
        f"the window has {window:,} ({fields.model.window_field})",
        "lower `limits.max_context_bytes` or `tool_result_max_chars`" + (", or add `compaction:`" if turns > 1 else ""),
        at_key=True,
    )


def _shortened(step: StepView) -> bool:
    agent = step.agent
    limited = mapping(agent.get("context_limits")).get("max_bytes") is not None
    return limited or isinstance(agent.get("compaction"), dict) or isinstance(agent.get("trim"), str)
