"""What the flow of keys and of untrusted text proves wrong: the part of it that keeps a workflow from running."""

from collections.abc import Iterator

from tuvl.analysis.agent_dangers import untrusted_instructions
from tuvl.analysis.fault import Fault, coded
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.input_use import input_mismatches
from tuvl.analysis.key_flow import KeyFlow, key_flow
from tuvl.analysis.public_rights import public_rights
from tuvl.analysis.reserved_keys import reserved_keys
from tuvl.analysis.schedule_faults import unfit_schedule_input
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.taint import taint_of
from tuvl.analysis.undefined_keys import missing_outputs, undefined_keys
from tuvl.analysis.urls import templated_hosts


def flow_faults(routes: RouteGraph, project: Surroundings) -> Iterator[Fault]:
    """Everything of the families data flow and security that is an error, secrets in the clear aside, by its code."""
    workflow = routes.workflow
    yield from coded("TV504", reserved_keys(workflow, project))
    yield from coded("TV708", public_rights(routes, project, certain=True))
    for step in workflow.steps:
        yield from coded("TV703", templated_hosts(step, project))
    yield from coded("TV503", unfit_schedule_input(workflow))
    flow = key_flow(routes, project)
    if flow is not None:
        yield from _of_keys(flow, project)


def _of_keys(flow: KeyFlow, project: Surroundings) -> Iterator[Fault]:
    for code, found in (("TV501", undefined_keys(flow)), ("TV505", missing_outputs(flow))):
        for undefined in found:
            if undefined.certain:
                yield Fault(undefined.place, undefined.message, undefined.hint, code=code)
    yield from coded("TV503", input_mismatches(flow, project))
    taint = taint_of(flow, project)
    if taint is not None:
        yield from coded("TV710", untrusted_instructions(taint, certain=True))
