"""What is wrong with `spec.supervisor`: names that lead nowhere, and parts of it that can never do anything."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.agent_fields import MAX_ITERATIONS
from tuvl.analysis.fault import Fault
from tuvl.analysis.language_models import whole
from tuvl.analysis.references import tool_entries
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.suggest import certain, did_you_mean
from tuvl.values import KeyPath

_PATH: KeyPath = ("spec", "supervisor")
_BUDGETS = ("token_budget", "cost_budget_usd")


def supervisor_of(workflow: WorkflowView) -> Mapping[str, Any]:
    """The `spec.supervisor` of a workflow; empty without one."""
    return mapping(workflow.spec.get("supervisor"))


def supervising_judge(workflow: WorkflowView) -> Mapping[str, Any]:
    """The judge of a workflow's supervisor, when it is one that judges; else nothing."""
    judge = mapping(supervisor_of(workflow).get("judge"))
    return judge if text(judge.get("model")) and text(judge.get("criteria")) else {}


def watched_agents(workflow: WorkflowView) -> list[StepView]:
    """The loops that the supervisor watches, of those that are there."""
    named = (name for name in items(supervisor_of(workflow).get("watches")) if isinstance(name, str))
    found = (workflow.by_id.get(name) for name in named)
    return [step for step in found if step is not None and step.kind == "Agent" and step.mode == "autonomous"]


def unknown_watched(workflow: WorkflowView) -> Iterator[Fault]:
    """Names in `watches` and in rules that are no agent, or no step, of the workflow."""
    supervisor = supervisor_of(workflow)
    agents = [step.id for step in workflow.steps if step.kind == "Agent"]
    for index, name in enumerate(items(supervisor.get("watches"))):
        if isinstance(name, str) and name:
            yield from _not_watchable(workflow, name, (*_PATH, "watches", index), agents)
    for index, rule in enumerate(items(supervisor.get("rules"))):
        tool = text(mapping(rule).get("tool"))
        if tool and tool not in workflow.by_id:
            hint = did_you_mean(tool, workflow.by_id) or "name a tool of a watched agent, or leave `tool` out for any"
            yield Fault(
                (*_PATH, "rules", index, "tool"),
                f"rule number {index + 1} of the supervisor names the tool {tool!r}, which is no step of this workflow",
                hint,
                replacement=certain(tool, workflow.by_id),
            )


def _not_watchable(workflow: WorkflowView, name: str, path: KeyPath, agents: list[str]) -> Iterator[Fault]:
    step = workflow.by_id.get(name)
    if step is None:
        hint = did_you_mean(name, agents) or "name an agent of this workflow"
        message = f"the supervisor watches {name!r}, which is no step of this workflow"
        yield Fault(path, message, hint, replacement=certain(name, agents))
    elif step.kind not in (None, "Agent"):
        message = f"the supervisor watches {name!r}, which is of kind {step.kind!r}; it watches agents only"
        yield Fault(path, message, "name an agent of this workflow")
    elif step.mode == "completion":
        message = f"the supervisor watches {name!r}, which makes a single call; there is no loop to watch"
        yield Fault(path, message, "name an agent with `mode: autonomous`, or bound this one with `timeout_s`")


def silent_rules(workflow: WorkflowView, project: Surroundings) -> Iterator[Fault]:
    """Rules, and judges, of a supervisor that can never speak: they look like a safety net and are none."""
    agents = watched_agents(workflow)
    if not agents:
        return  # what is wrong then is told elsewhere
    most = max(whole(agent.agent.get("max_iterations")) or MAX_ITERATIONS for agent in agents)
    for index, rule in enumerate(items(supervisor_of(workflow).get("rules"))):
        yield from _silent(mapping(rule), (*_PATH, "rules", index), workflow, agents, most, project)
    every = whole(supervising_judge(workflow).get("every_n_iterations")) or 1
    if supervising_judge(workflow) and every >= most:
        yield Fault(
            (*_PATH, "judge", "every_n_iterations"),
            f"the judge would look after {every} turns, and no watched agent has a turn after that: "
            f"`max_iterations` is {most} at most",
            f"write a number below {most}",
        )


def _silent(
    rule: Mapping[str, Any],
    path: KeyPath,
    workflow: WorkflowView,
    agents: list[StepView],
    most: int,
    project: Surroundings,
) -> Iterator[Fault]:
    match rule.get("when"):
        case "budget_fraction":
            if not _budgeted(workflow, agents, project):
                yield Fault(
                    (*path, "when"),
                    "this rule waits for a fraction of a budget, but no watched agent has a budget",
                    "give a watched agent a `token_budget` or `cost_budget_usd`, or remove the rule",
                )
        case "iteration_reached":
            least = whole(rule.get("gte"))
            if least is not None and least > most:
                yield Fault(
                    (*path, "gte"),
                    f"this rule waits for iteration {least}, but no watched agent gets there: "
                    f"`max_iterations` is {most} at most",
                    f"write {most} or less",
                )
        case "no_progress":
            least = whole(rule.get("count"))
            if least is not None and least >= most:
                yield Fault(
                    (*path, "count"),
                    f"this rule waits for {least} turns in a row, but no watched agent has a turn after that: "
                    f"`max_iterations` is {most} at most",
                    f"write a number below {most}",
                )
        case "tool_repeated":
            yield from _never_repeated(rule, path, agents)


def _never_repeated(rule: Mapping[str, Any], path: KeyPath, agents: list[StepView]) -> Iterator[Fault]:
    tool, least = text(rule.get("tool")), whole(rule.get("count")) or 3
    holders = [agent for agent in agents if tool is None or tool in {ref for _, ref, _ in tool_entries(agent)}]
    if not holders:
        yield Fault(
            (*path, "tool"),
            f"this rule counts calls of {tool!r}, which is no tool of a watched agent",
            "name a tool of a watched agent, or leave `tool` out for any",
        )
        return
    bounds = [whole(agent.agent.get("max_tool_calls")) for agent in holders]
    most = max((bound for bound in bounds if bound is not None), default=0)
    if None not in bounds and least > most:
        yield Fault(
            (*path, "count"),
            f"this rule waits for {least} calls of a tool, but no watched agent makes so many: "
            f"`max_tool_calls` is {most} at most",
            f"write {most} or less",
        )


def _budgeted(workflow: WorkflowView, agents: list[StepView], project: Surroundings) -> bool:
    bounds = run_bounds(workflow, project)
    return (
        bounds.max_tokens is not None
        or bounds.max_cost_usd is not None
        or any(agent.agent.get(name) is not None for agent in agents for name in _BUDGETS)
    )


def reactions(workflow: WorkflowView) -> frozenset[str]:
    """What the supervisor may do: the reactions of its rules and of its judge."""
    found = {text(mapping(rule).get("then")) for rule in items(supervisor_of(workflow).get("rules"))}
    judge = supervising_judge(workflow)
    if judge:
        found |= {text(judge.get("on_violation")) or "pause", text(judge.get("on_judge_error")) or "ignore"}
    return frozenset(name for name in found if name in ("pause", "steer", "abort"))
