"""What the figures of a worst case rest on, and what they leave out; said in sentences, for those who read them."""

from collections.abc import Iterator

from tuvl.analysis.agent_fields import agent_fields
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.judges import guard_checks, judge_models
from tuvl.analysis.language_models import Lookup, ModelFacts, model_facts
from tuvl.analysis.measure import EXPECTED, PROVED
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.run_paths import run_paths
from tuvl.analysis.scope import Waits
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.supervision import reactions
from tuvl.analysis.supervision_spend import watching_judge
from tuvl.analysis.surroundings import Surroundings
from tuvl.model_table import table_entry


def assumptions(
    workflow: WorkflowView,
    project: Surroundings,
    graph: RouteGraph,
    *,
    waits: Waits | None = None,
    lookup: Lookup = table_entry,
) -> tuple[str, ...]:
    """Everything that has to hold, in the order in which it matters."""
    agents = [step for step in workflow.steps if step.kind == "Agent"]
    found = [*_counting(), *_calls(agents, project, lookup), *_models(workflow, project, lookup)]
    found += _loops(workflow, project, graph)
    found += _time(workflow, agents, project, waits or Waits(), lookup)
    found += _left_out(workflow, project)
    return tuple(dict.fromkeys(found))


def _counting() -> Iterator[str]:
    yield "proved: a token is at least one byte of UTF-8"
    yield "expected: a token is about four characters, and no call has to be made again"
    yield (
        f"a provider adds at most {PROVED.frame} tokens around a message, a call or a tool, and {PROVED.request_frame} "
        f"to a request (expected: {EXPECTED.frame} and {EXPECTED.request_frame})"
    )
    yield "providers keep to the longest reply they are asked for; sent back, it counts no more than it was billed"
    yield "a request that the provider refuses as too long costs nothing"


def _calls(agents: list[StepView], project: Surroundings, lookup: Lookup) -> Iterator[str]:
    if any(agent_fields(agent, project, lookup).attempts > 1 for agent in agents):
        yield (
            "an attempt that fails may cost what an answered one does; nobody reports it, so that budgets do not "
            "see it, and it comes on top of them"
        )
    if any(agent.agent.get("token_budget") or agent.agent.get("cost_budget_usd") for agent in agents):
        yield "providers report what a call used; budgets are tested before each turn, which may begin just below one"
    if any(isinstance(agent.agent.get("trim"), str) for agent in agents):
        yield "expected: `trim` does not make requests longer"
    if any(isinstance(agent.agent.get("continue_on_stop"), str) for agent in agents):
        yield "expected: what `continue_on_stop` says is short"


def _models(workflow: WorkflowView, project: Surroundings, lookup: Lookup) -> Iterator[str]:
    for model in models_of(workflow, project, lookup):
        if not model.found:
            yield f"model {model.name!r} is not in this project, so its price and its longest reply are unknown"
        elif model.input_price is not None and model.output_price is not None:
            yield (
                f"model {model.name!r}: ${model.input_price * 1e6:g} a million input tokens, "
                f"${model.output_price * 1e6:g} output ({model.price_source})"
            )


def models_of(workflow: WorkflowView, project: Surroundings, lookup: Lookup) -> tuple[ModelFacts, ...]:
    """The models that the agents of a workflow call, judges and summaries included, each once."""
    found: dict[str, ModelFacts] = {}
    for step in workflow.steps:
        if step.kind != "Agent":
            continue
        summary = text(mapping(step.agent.get("compaction")).get("model"))
        named = [model_facts(step.agent.get("model"), project, lookup), *judge_models(step, project, lookup)]
        named += [] if summary is None else [model_facts(summary, project, lookup)]
        named += watching_judge(step, workflow, project, lookup)
        for model in named:
            found.setdefault(model.name, model)
    return tuple(found.values())


def _loops(workflow: WorkflowView, project: Surroundings, graph: RouteGraph) -> Iterator[str]:
    bounds = run_bounds(workflow, project)
    ways = run_paths(graph, bounds.max_steps)
    if any(paths.has_cycles for paths in ways):
        yield f"steps in a cycle run as often as limits.max_steps: {bounds.max_steps} lets them"
    if len(ways) > 1:
        yield "what an abort leads to is added: it has a number of steps of its own"


def _time(
    workflow: WorkflowView, agents: list[StepView], project: Surroundings, waits: Waits, lookup: Lookup
) -> Iterator[str]:
    yield "seconds are those of calls, tools and waits; the work of the engine itself is not in them"
    if any(agent_fields(agent, project, lookup).model.rate is not None for agent in agents):
        yield "no other run calls a model with a `rate_limit` meanwhile; that of judges and summaries is left out"
    if any(agent.mode == "autonomous" for agent in agents):
        yield f"a tool without a timeout of its own may take {waits.tool_s:g} s (TUVL_AGENT_TOOL_TIMEOUT_S)"
    limited = run_bounds(workflow, project).timeout_s is not None
    clocked = all(agent_fields(agent, project, lookup).max_wall_clock_s is not None for agent in agents)
    waiting = "approvals, pauses and questions to people"
    if limited or (agents and clocked):
        field = "limits.timeout_s" if limited else "max_wall_clock_s"
        yield f"the time of {waiting} is within {field}, and counts nowhere else"
    else:
        yield f"{waiting} may take any time; limits.timeout_s would bound them"


def _left_out(workflow: WorkflowView, project: Surroundings) -> Iterator[str]:
    yield "nobody steers the run from outside; each steer adds its own text, and one that interrupts adds a request"
    yield "what nodes, HTTP services and MCP servers spend on their own account is not in the figures"
    if "pause" in reactions(workflow):
        yield "the supervisor may pause the run; whoever resumes it takes their time"
    checks = (check for step in workflow.steps for check in guard_checks(step, "tools", project))
    if any(check.get("check") == "llm_judge" for check in checks):
        yield "judges of tool results read them in full, before they are cut"
