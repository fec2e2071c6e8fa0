"""One call of an agent's tool from outside its loop, through the same checks, rights, gates and dispatch."""

from dataclasses import replace

from tuvl.agent.transcript import Transcript
from tuvl.plan.model import ToolCallPlan
from tuvl.steps.agent_gates import gates_of, masks_of
from tuvl.steps.agent_parts import AgentParts
from tuvl.steps.agent_records import ledger_of
from tuvl.steps.agent_tools import bounds_of, emitter_of, toolbox_of
from tuvl.steps.base import StepResult, StepScope
from tuvl.tools.arguments import read_arguments
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import JsonObject

CALL_ID = "call"


async def run_tool_call(scope: StepScope) -> StepResult:
    """Answer the call; its output says what a model would have read, and whether the tool failed."""
    plan = scope.step.action
    assert isinstance(plan, ToolCallPlan)
    # Nobody else calls in this run: bounds on how often, and on what has been said before, are those of a loop.
    agent = replace(plan.agent, tool_error_policy="report", conversation=None)
    tool = replace(plan.tool, max_calls=None)
    bounds = bounds_of(agent, scope.services)
    parts = AgentParts(agent=agent, scope=scope, bounds=bounds, emit=emitter_of(scope), turn=lambda: 1)
    transcript = Transcript(scope.place, scope.trace, masks=masks_of(agent))
    ledger = ledger_of(agent, scope, transcript)
    toolbox = toolbox_of(parts, gates_of(agent, scope, bounds, ledger), (tool,))
    call = RequestedCall(id=CALL_ID, name=tool.ref, arguments=read_arguments(plan.arguments))
    (answer,) = await toolbox.answer([call], turn=1, record=ledger)
    output: JsonObject = {"content": answer.content, "failed": answer.failed, "truncated": answer.truncated}
    return StepResult(output=output, has_output=True, trace=tuple(transcript.entries))
