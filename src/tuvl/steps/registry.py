"""Which runner serves which action: the only list."""

from collections.abc import Mapping

from tuvl.plan.model import (
    Action,
    AgentPlan,
    ApiCallPlan,
    ConditionPlan,
    FailPlan,
    ForEachPlan,
    FunctionalPlan,
    HumanPlan,
    LogPlan,
    MatchPlan,
    McpPlan,
    ModelOpPlan,
    ResponsePlan,
    SetPlan,
    SubWorkflowPlan,
    ToolCallPlan,
    WaitPlan,
    WhenPlan,
)
from tuvl.steps.agent import run_agent
from tuvl.steps.api_call import run_api_call
from tuvl.steps.base import StepRunner
from tuvl.steps.builtins import run_fail, run_log, run_set, run_wait
from tuvl.steps.for_each import run_for_each
from tuvl.steps.functional import run_functional
from tuvl.steps.human import run_human
from tuvl.steps.mcp import run_mcp
from tuvl.steps.model_op import run_model_op
from tuvl.steps.response import run_response
from tuvl.steps.router import run_router
from tuvl.steps.sub_workflow import run_sub_workflow
from tuvl.steps.tool_call import run_tool_call

RUNNERS: Mapping[type[Action], StepRunner] = {
    AgentPlan: run_agent,
    ApiCallPlan: run_api_call,
    ConditionPlan: run_router,
    FailPlan: run_fail,
    ForEachPlan: run_for_each,
    FunctionalPlan: run_functional,
    HumanPlan: run_human,
    LogPlan: run_log,
    MatchPlan: run_router,
    McpPlan: run_mcp,
    ModelOpPlan: run_model_op,
    ResponsePlan: run_response,
    SetPlan: run_set,
    SubWorkflowPlan: run_sub_workflow,
    ToolCallPlan: run_tool_call,
    WaitPlan: run_wait,
    WhenPlan: run_router,
}
"""Action → runner."""
