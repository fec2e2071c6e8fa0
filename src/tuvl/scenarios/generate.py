"""Writes scenarios for exits of agents that no scenario takes: each agent is taken for "any declared exit".

A generated scenario walks one way through the workflow, every step on it stubbed with the signal that leads on. It
proves the routing and nothing else; a person then takes away the stubs of the steps that should really work.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tuvl.analysis.steps import END
from tuvl.dataclass import dataclass
from tuvl.errors import OutputError
from tuvl.files import real_target
from tuvl.project.index import ProjectIndex
from tuvl.scenarios.coverage import Route, WorkflowCoverage, routes_of
from tuvl.scenarios.example_input import example_input
from tuvl.scenarios.run import run_scenario
from tuvl.scenarios.scenario import Found, Scenario, view_of
from tuvl.source.document import parse_text
from tuvl.spec.signals import DEFAULT, ERROR, RESERVED_EXITS
from tuvl.values import JsonObject

_FAILURES = RESERVED_EXITS | {"timeout", "parse_error"}
_NOWHERE = ""
"""Target of a failure that nothing routes."""

_LONGEST_NAME = 120
"""Characters of a generated name: file systems take 255 bytes, with encryption 143, the suffix included."""
_DIGITS = 12

FOLDER = "tests"
"""Where the scenarios of a project live, below its root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of one exit: the file written for it, or why there is none."""

    workflow: str
    exit: Route
    file: str | None = None
    why_not: str | None = None


def generate(
    project: ProjectIndex, found: Found, coverages: Sequence[WorkflowCoverage], *, environ: Mapping[str, str]
) -> list[Written]:
    """Write a scenario for every exit that is not covered; a file that exists is left as it is."""
    return [
        _generate(project, found, coverage.workflow, route, environ)
        for coverage in coverages
        for route in coverage.uncovered_exits
    ]


def _generate(project: ProjectIndex, found: Found, workflow: str, exit: Route, environ: Mapping[str, str]) -> Written:
    def refused(why: str) -> Written:
        return Written(workflow=workflow, exit=exit, why_not=why)

    way = way_through(routes_of(project, workflow), _entry(project, workflow), exit)
    if way is None:
        return refused("no way from the first step to it")
    given = _input(project, found, workflow)
    if given is None:
        return refused("no input could be made up for `spec.input`; write one scenario by hand, its input serves then")
    name = scenario_name(workflow, exit)
    path = _folder(project, found, workflow) / f"{name}.yaml"
    shown = project.relative(path)
    if path.exists():
        return refused(f"{shown!r} exists already")
    text = scenario_text(name, workflow, given, exit, way)
    document = parse_text(text.encode(), file=str(path)).documents[0]
    outcome = run_scenario(project, Scenario(document=document), environ=environ)
    if outcome.verdict != "passed":
        return refused(outcome.problems[0].message)
    try:
        real_target(path, within=project.root)
        path.parent.mkdir(parents=True, exist_ok=True)
        # `x` refuses what came to be there since it was looked at.
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise OutputError(f"cannot write {shown!r}: {(error.strerror or 'failed').lower()}") from None
    return Written(workflow=workflow, exit=exit, file=shown)


def scenario_name(workflow: str, exit: Route) -> str:
    """Return what the scenario of an exit and its file are called: the same each time, and no longer than a name is.

    One that would be too long for a file ends in a digest of the whole of it.
    """
    whole = f"{workflow}-{exit.step}-{exit.signal}"
    name = re.sub(r"[^A-Za-z0-9_-]", "-", whole)
    if len(name) <= _LONGEST_NAME:
        return name
    digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name[: _LONGEST_NAME - _DIGITS - 1]}-{digest}"


def _entry(project: ProjectIndex, workflow: str) -> str | None:
    routes = routes_of(project, workflow)
    return routes[0].step if routes else None


def way_through(routes: Sequence[Route], entry: str | None, exit: Route) -> tuple[Route, ...] | None:
    """Return a shortest way from the entry over the exit to an end.

    Where the exit leads to no end but a failure, the way ends with a step that fails, unrouted.
    """
    leaving: dict[str, list[Route]] = {}
    for route in routes:
        leaving.setdefault(route.step, []).append(route)
    for ways in leaving.values():
        # What went well is what a reader expects of the steps that are not meant.
        ways.sort(key=lambda route: route.signal in _FAILURES)
    before = None if entry is None else _shortest(leaving, entry, lambda step: step == exit.step)
    if before is None:
        return None
    after = _shortest(leaving, exit.target, lambda step: step == END)
    if after is not None:
        return (*before, exit, *after)
    after = _shortest(leaving, exit.target, lambda step: step not in leaving)
    if after is None:
        return None
    last = after[-1].target if after else exit.target
    return (*before, exit, *after, Route(step=last, signal=ERROR, target=_NOWHERE))


def _shortest(
    leaving: Mapping[str, Sequence[Route]], start: str, is_goal: Callable[[str], bool]
) -> tuple[Route, ...] | None:
    came: dict[str, Route | None] = {start: None}
    ahead = [start]
    for step in ahead:  # it grows
        if is_goal(step):
            return _way_back(came, step)
        for route in leaving.get(step, ()):
            if route.target not in came:
                came[route.target] = route
                ahead.append(route.target)
    return None


def _way_back(came: Mapping[str, Route | None], goal: str) -> tuple[Route, ...]:
    way: list[Route] = []
    route = came[goal]
    while route is not None:
        way.append(route)
        route = came[route.step]
    return tuple(reversed(way))


def _input(project: ProjectIndex, found: Found, workflow: str) -> JsonObject | None:
    """Return an input that the workflow takes: that of its first scenario, else one made up from its schema."""
    for scenario in found.scenarios:
        if scenario.workflow == workflow:
            data: Any = scenario.document.data
            given = data.get("spec", {}).get("input", {})
            return given if isinstance(given, dict) else None
    view = view_of(project, workflow)
    return None if view is None else example_input(view.spec.get("input"))


def _folder(project: ProjectIndex, found: Found, workflow: str) -> Path:
    """Return the folder of the workflow's first scenario, else that of the project's scenarios."""
    for scenario in found.scenarios:
        if scenario.workflow == workflow:
            return scenario.folder
    return project.root / FOLDER


def scenario_text(name: str, workflow: str, given: JsonObject, exit: Route, way: Sequence[Route]) -> str:
    """Write the document."""
    lines = [
        "kind: WorkflowTest",
        "metadata:",
        f"  name: {json.dumps(name)}",
        f"  description: {json.dumps(f'Agent {exit.step} leaves on {exit.signal}.', ensure_ascii=False)}",
        "spec:",
        f"  workflow: {json.dumps(workflow)}",
        f"  input: {json.dumps(given, ensure_ascii=False)}",
        "  # Every step on the way is stubbed: this shows where the exit leads, and nothing else. Take a stub away to",
        "  # let its step work, and say under `models:` what its model replies.",
        "  stubs:",
        *_stub_lines(way),
        "  expect:",
        f"    status: {'failed' if way[-1].target == _NOWHERE else 'completed'}",
        f"    signal: {json.dumps(way[-1].signal)}",
        f"    steps: {json.dumps([route.step for route in way])}",
    ]
    return "\n".join(lines) + "\n"


def _stub_lines(way: Sequence[Route]) -> Iterator[str]:
    stubs: dict[str, list[str]] = {}
    for route in way:
        stub: dict[str, str] = {} if route.signal == DEFAULT else {"signal": route.signal}
        if route.signal in _FAILURES:
            stub["error"] = f"a stand-in for {route.signal}"
        stubs.setdefault(route.step, []).append(json.dumps(stub))
    for step, each in stubs.items():
        listed = ", ".join(each)
        yield f"    {json.dumps(step)}: {listed if len(each) == 1 else f'[{listed}]'}"
