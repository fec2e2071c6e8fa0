"""All faults of a workflow that its shape does not show, in one list: what the compiler refuses."""

from collections.abc import Mapping

from tuvl.analysis.agent_faults import bad_guardrails, bad_outcomes, refused_tool_names, undescribed_tools
from tuvl.analysis.bound_faults import contradictory_bounds, unpriced_models
from tuvl.analysis.compaction_faults import compaction_faults
from tuvl.analysis.expression_faults import bad_expressions
from tuvl.analysis.fault import Fault, coded
from tuvl.analysis.flow_faults import flow_faults
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.reference_faults import (
    bad_hook_targets,
    bad_step_references,
    misspelt_references,
    unknown_data_models,
    unknown_nodes,
    unknown_workflows,
    workflow_cycles,
)
from tuvl.analysis.route_faults import (
    dead_ends,
    no_beginning,
    no_way_out,
    reserved_ids,
    unknown_targets,
    unrouted_outcomes,
)
from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.supervision import unknown_watched
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.templates import bad_templates


def workflow_faults(workflow: WorkflowView, project: Surroundings, graph: RouteGraph | None = None) -> list[Fault]:
    """Everything that keeps a well-shaped workflow from running, artifacts aside, in the order it is found.

    Each fault is an error of `tuvl validate`, and each error of the families references, flow and agent that concerns
    one workflow is a fault here, or a mistake that building the typed contract refuses. Those that a run can go on in
    spite of have the code of their check.
    """
    graph = graph or route_graph(workflow, project)
    found = [*reserved_ids(workflow), *unknown_targets(workflow), *bad_step_references(workflow, graph.references)]
    found += bad_hook_targets(workflow, graph.references)
    found += bad_expressions(workflow)
    found += misspelt_references(workflow.data, "Workflow")
    found += unknown_data_models(workflow, project)
    found += unknown_workflows(workflow, project)
    found += unknown_watched(workflow)
    found += workflow_cycles(workflow, project)
    for step in workflow.steps:
        found += bad_templates(step)
        found += unknown_nodes(step, project)
        found += coded("TV306", dead_ends(step, graph, project))
        if step.kind == "Agent":
            found += bad_outcomes(step)
            found += unrouted_outcomes(step, graph)
            found += undescribed_tools(step, workflow.by_id)
            found += refused_tool_names(step, workflow.by_id)
            found += bad_guardrails(step)
    found += no_beginning(graph)
    found += coded("TV304", no_way_out(graph))
    found += flow_faults(graph, project)
    found += coded("TV603", contradictory_bounds(workflow, project))
    found += compaction_faults(workflow, project)
    return found


def price_faults(workflow: WorkflowView, project: Surroundings, models: Mapping[str, str] | None = None) -> list[Fault]:
    """Bounds on dollars that cannot be held; `models` replaces models by the name they are called by."""
    return list(coded("TV605", unpriced_models(workflow, project, models=models)))
