"""What the fixpoint says of each place is what walking every single way says."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.flow_cases import KEYS, Case, ways, workflows
from tuvl.analysis.graph import route_graph
from tuvl.analysis.key_flow import key_flow
from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.surroundings import ALONE
from tuvl.analysis.undefined_keys import missing_outputs, undefined_keys
from tuvl.engine.result import RunResult
from tuvl.errors import ConfigError
from tuvl.plan.compile import compile_workflow
from tuvl.plan.model import ExecutionPlan
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings
from tuvl.source.document import parse_text


@given(workflows())
@settings(max_examples=150, deadline=None)
def test_keys_missing_and_possible_at_a_place_are_those_that_walking_every_way_finds(case: Case) -> None:
    flow = case.flow
    keys = flow.graph.keys
    lacking: dict[int, set[str]] = {}
    possible: dict[int, set[str]] = {}
    for place, sure, maybe in ways(flow):
        lacking.setdefault(place, set()).update(set(KEYS) - sure)
        possible.setdefault(place, set()).update(set(KEYS) & maybe)
    for place in range(flow.graph.end + 1):
        if place not in lacking:
            assert flow.lacking[place] is None
            continue
        assert set(keys.listed(flow.lacking[place] or 0)) & set(KEYS) == lacking[place] & set(keys.names)
        assert set(keys.listed(flow.possible[place] or 0)) & set(KEYS) == possible[place]


@given(workflows(cycles=True))
@settings(max_examples=100, deadline=None)
def test_shown_way_leads_there_without_the_key(case: Case) -> None:
    flow = case.flow
    for place in flow.graph.places:
        for name in flow.graph.keys.listed(flow.lacking[place.index] or 0):
            key = flow.graph.keys.bit(name)
            way = flow.way_without(place.index, key)
            assert way is not None
            assert [edge.source for edge in way[:1]] in ([], [0])
            assert all(before.target == after.source for before, after in pairwise(way))
            assert not any(flow.brings(edge) & key for edge in way)


def compiled(case: Case, folder: Path) -> ExecutionPlan | None:
    """The plan of a workflow; `None` when it is refused."""
    (document,) = parse_text(json.dumps(case.data).encode(), file="w.yaml").documents
    try:
        return compile_workflow(document, ProjectIndex(folder))
    except ConfigError:
        return None


def run(plan: ExecutionPlan, input: dict[str, Any], folder: Path) -> RunResult:
    async def once() -> RunResult:
        engine = Engine(ProjectIndex(folder), settings=Settings(), environ={})
        try:
            return await engine.run(plan, dict(input))
        finally:
            await engine.aclose()

    return asyncio.run(once())


@given(workflows(cycles=True, fail=True), st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["x", "y"])))
@settings(max_examples=200, deadline=None)
def test_run_of_a_workflow_without_findings_meets_no_undefined_name(
    tmp_path_factory: pytest.TempPathFactory, case: Case, offered: dict[str, str]
) -> None:
    if case.graph.entry is None or undefined_keys(case.flow):
        return
    schema = case.data["spec"]["input"]
    given_keys = {key: offered.get(key, "x") for key in schema["properties"]}
    fitting = {key: value for key, value in given_keys.items() if key in offered or key in schema["required"]}
    plan = compiled(case, tmp_path_factory.getbasetemp())
    if plan is not None:
        assert "is undefined" not in json.dumps(run(plan, fitting, tmp_path_factory.getbasetemp()).to_json())


@given(workflows(cycles=True, fail=True))
@settings(max_examples=200, deadline=None)
def test_workflow_with_a_key_that_is_certainly_missing_does_not_compile(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    if case.graph.entry is None:
        return
    if any(finding.certain for finding in (*undefined_keys(case.flow), *missing_outputs(case.flow))):
        assert compiled(case, tmp_path_factory.getbasetemp()) is None


@given(workflows())
@settings(max_examples=150, deadline=None)
def test_key_that_is_certainly_missing_is_brought_by_no_way(case: Case) -> None:
    flow = case.flow
    possible: dict[int, set[str]] = {}
    for place, _, maybe in ways(flow):
        possible.setdefault(place, set()).update(maybe)
    of_step = {place.step.path: place.index for place in flow.graph.places}
    for finding in undefined_keys(flow):
        if finding.certain:
            name = finding.message.split("reads ")[1].split("'")[1]
            assert name not in possible[of_step[finding.place[:3]]]


@pytest.mark.parametrize("shape", ["chain", "ladder"])
def test_eight_thousand_steps_are_followed_to_the_last(shape: str) -> None:
    count = 8000
    steps = []
    for index in range(count):
        step: dict[str, Any] = {
            "id": f"s{index}",
            "kind": "Functional",
            "runner": "set",
            "values": {f"k{index}": f"{{{{ k{index - 1} }}}}" if index else "x"},
        }
        if shape == "ladder":
            step["routes"] = {"error": f"s{max(0, index - 1)}"}
        steps.append(step)
    data = {"kind": "Workflow", "spec": {"input": {"properties": {}, "additionalProperties": False}, "steps": steps}}
    flow = key_flow(route_graph(WorkflowView(data), ALONE), ALONE)
    assert flow is not None
    assert undefined_keys(flow) == []
