"""Runs scenarios: one after another, each with an engine, models and a store of runs of its own."""

import asyncio
import tempfile
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from tuvl.check.finding import Finding, Severity
from tuvl.check.runner import check_document
from tuvl.dataclass import dataclass
from tuvl.engine.result import RunResult
from tuvl.errors import ConfigError, InputError, TuvlError
from tuvl.leftovers import stop_tasks
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.scenarios.answers import Answers
from tuvl.scenarios.expect import mismatches
from tuvl.scenarios.judging import Judged, Judges, judge
from tuvl.scenarios.models import Models
from tuvl.scenarios.refusals import Refusals
from tuvl.scenarios.scenario import Scenario
from tuvl.scenarios.stubs import Stubs
from tuvl.settings import Settings
from tuvl.source.document import Document
from tuvl.tools.approval import StandingAnswer
from tuvl.values import KeyPath

Verdict = Literal["passed", "failed", "broken"]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One reason why a scenario did not pass, at its place in a file; `expected` and `actual` belong together."""

    file: str
    line: int
    column: int
    message: str
    expected: str | None = None
    actual: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one scenario went. `broken` could not be run: its file, or the workflow, has a mistake."""

    name: str
    workflow: str
    file: str
    line: int
    verdict: Verdict
    problems: tuple[Problem, ...] = ()
    result: RunResult | None = None
    duration_ms: float = 0.0
    timeout_s: float | None = None
    """How long the scenario lets its run take, in seconds."""
    unreadable: bool = False
    """Whether it stands for a file that cannot be read at all, so that nobody knows what it holds."""
    judged: tuple[Judged, ...] = ()
    """What models said of the run; it is no part of the verdict."""


def run_scenarios(
    project: ProjectIndex, scenarios: Sequence[Scenario], *, environ: Mapping[str, str], judges: Judges | None = None
) -> list[Outcome]:
    """Run scenarios in their order; a scenario that cannot be run is an outcome, too. `judges` say who judges."""
    return [run_scenario(project, scenario, environ=environ, judges=judges) for scenario in scenarios]


def run_scenario(
    project: ProjectIndex, scenario: Scenario, *, environ: Mapping[str, str], judges: Judges | None = None
) -> Outcome:
    """Run one scenario and compare it with what it expects."""
    started = time.monotonic()
    problems = _findings(project, scenario)
    verdict: Verdict = "broken"
    result = None
    if not problems:
        try:
            result, problems = _on_a_loop(_run(project, scenario, environ))
            verdict = "failed" if problems else "passed"
        except InputError as error:
            problems = (problem_at(scenario.document, ("spec", "input"), str(error)),)
        except TuvlError as error:
            problems = (problem_at(scenario.document, ("spec",), str(error), at_key=True),)
    duration_ms = (time.monotonic() - started) * 1000
    place = scenario.document.locate(("metadata", "name"))
    return Outcome(
        name=scenario.name,
        workflow=scenario.workflow,
        file=scenario.document.file,
        line=place.start.line,
        verdict=verdict,
        problems=problems,
        result=result,
        duration_ms=duration_ms,
        timeout_s=None if result is None else scenario.spec().timeout_s,
        judged=_judged(project, scenario, result, judges),
    )


def _judged(
    project: ProjectIndex, scenario: Scenario, result: RunResult | None, judges: Judges | None
) -> tuple[Judged, ...]:
    try:
        assertions = scenario.spec().expect.judge
    except ConfigError:
        return ()  # what is wrong with the document has been told
    return _on_a_loop(judge(scenario.document, assertions, result, project, judges)) if assertions else ()


def problem_at(
    document: Document,
    path: KeyPath,
    message: str,
    *,
    expected: str | None = None,
    actual: str | None = None,
    at_key: bool = False,
) -> Problem:
    """Make a problem at a key path of a scenario."""
    start = document.locate(path, key=at_key).start
    return Problem(
        file=document.file, line=start.line, column=start.column, message=message, expected=expected, actual=actual
    )


def _findings(project: ProjectIndex, scenario: Scenario) -> tuple[Problem, ...]:
    """Return the mistakes that `validate` calls errors, those of the workflow included."""
    return tuple(
        problem_of(finding)
        for finding in check_document(scenario.document, project)
        if finding.severity is Severity.ERROR
    )


def problem_of(finding: Finding) -> Problem:
    """Make a problem of what `validate` finds."""
    return Problem(
        file=finding.file,
        line=finding.line,
        column=finding.column,
        message=f"{finding.code} {finding.message}" + (f" ({finding.hint})" if finding.hint else ""),
    )


def _on_a_loop(main: Coroutine[object, object, Value]) -> Value:
    """Run a coroutine on an event loop of its own; unlike `asyncio.run`, wait for nothing that does not stop."""
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        try:
            return loop.run_until_complete(main)
        finally:
            stop_tasks(loop)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _run(
    project: ProjectIndex, scenario: Scenario, environ: Mapping[str, str]
) -> tuple[RunResult, tuple[Problem, ...]]:
    spec, refusals = scenario.spec(), Refusals()
    document = project.workflow(spec.workflow)
    if document is None:
        raise ConfigError(f"there is no workflow {spec.workflow!r} in this project")
    with tempfile.TemporaryDirectory(prefix="tuvl-test-") as folder:
        answers = Answers.of(spec, refusals)
        stubs = Stubs.of(spec, refusals, answers)
        plan = Engine(project, settings=Settings(), environ=environ).plan(document)
        engine = Engine(
            project,
            # Nothing of a test goes into the project's own store of runs, and nobody resumes what it pauses.
            settings=Settings(database_url=f"sqlite:///{Path(folder) / 'runs.db'}", agent_pause_max_s=0.0),
            environ=environ,
            chat_models=Models.of(spec.models, scenario.folder, plan, refusals),
            stand_in=stubs,
        )
        try:
            result = await engine.run(
                plan,
                spec.input,
                timeout_s=spec.timeout_s,
                trace=True,
                approvals=StandingAnswer(approved=spec.approve == "all", by="the scenario", note=None),
            )
        finally:
            await engine.aclose()
    refused = [problem_at(scenario.document, path, message, at_key=True) for message, path in refusals.messages.items()]
    differing = [
        problem_at(scenario.document, each.path, each.field, expected=each.expected, actual=each.actual)
        for each in mismatches(spec.expect, result)
    ]
    return result, (*refused, *differing)
