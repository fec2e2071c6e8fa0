"""The report of `tuvl test`, for people, for programs, and as JUnit XML."""

from collections.abc import Iterator
from xml.etree import ElementTree

from tuvl.cli.render_junit import sound_xml
from tuvl.cli.test_judged import judged_json, judged_lines, judged_suite, judged_summary
from tuvl.cli.wording import count, reason
from tuvl.dataclass import dataclass
from tuvl.scenarios.coverage import Route, WorkflowCoverage, overall, percent
from tuvl.scenarios.run import Outcome, Problem
from tuvl.values import JsonObject, JsonValue, printable

_LABELS = {"passed": "passed", "failed": "FAILED", "broken": "BROKEN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """What came out."""

    outcomes: tuple[Outcome, ...]
    coverages: tuple[WorkflowCoverage, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether any scenario did not pass."""
        return any(outcome.verdict != "passed" for outcome in self.outcomes)

    def number(self, verdict: str) -> int:
        """How many scenarios ended so."""
        return sum(outcome.verdict == verdict for outcome in self.outcomes)


def summary_lines(report: TestReport) -> Iterator[str]:
    """Say in one line how it went, and in another what was judged."""
    counts = ((report.number("failed"), "failed"), (report.number("broken"), "could not be run"))
    told = [f"{report.number('passed')} passed", *(f"{number} {what}" for number, what in counts if number)]
    yield f"{count(len(report.outcomes), 'scenario')}: {', '.join(told)}"
    judged = judged_summary(report.outcomes)
    if judged is not None:
        yield judged


def report_text(report: TestReport) -> str:
    """Write the report for people: one line a scenario, below it what was expected and what came."""
    lines: list[str] = []
    for outcome in report.outcomes:
        of = f" ({outcome.workflow})" if outcome.workflow else ""
        lines.append(f"{_LABELS[outcome.verdict]}  {outcome.file}:{outcome.line}: {outcome.name}{of}")
        lines += _told_lines(outcome)
    lines += judged_lines(report.outcomes)
    for coverage in report.coverages:
        lines += _coverage_lines(coverage)
    return "".join(f"{printable(line)}\n" for line in lines)


def _told_lines(outcome: Outcome) -> Iterator[str]:
    for problem in outcome.problems:
        yield from _problem_lines(problem)
    why = _why(outcome)
    if why is not None:
        yield f"    the run's error: {why}"


def _why(outcome: Outcome) -> str | None:
    """Say what went wrong in the run of a scenario that failed, if anything did: often it explains the rest."""
    result = outcome.result
    compared = any(problem.expected is not None for problem in outcome.problems)  # others say why themselves
    if outcome.verdict != "failed" or not compared or result is None or result.error is None:
        return None
    cut_off = result.error.type == "timeout" and result.error.detail.get("timeout_s") == outcome.timeout_s
    by = "; the scenario's `timeout_s` says so" if cut_off else ""
    return f"{reason({'error': result.error.to_json()})}{by}"


def _problem_lines(problem: Problem) -> Iterator[str]:
    yield f"    {problem.file}:{problem.line}:{problem.column}: {problem.message}"
    if problem.expected is not None or problem.actual is not None:
        yield f"      - expected: {problem.expected}"
        yield f"      + actual:   {problem.actual}"


def _coverage_lines(coverage: WorkflowCoverage) -> Iterator[str]:
    routes, exits = coverage.routes, coverage.exits
    of_routes = _share(len(routes), len(coverage.uncovered))
    of_exits = _share(len(exits), len(coverage.uncovered_exits))
    by = count(coverage.scenarios, "scenario")
    yield f"coverage  {coverage.workflow}: {of_routes} routes, {of_exits} exits of agents, by {by}"
    for route in coverage.uncovered:
        yield f"    not taken: {route}" + (" (exit of an agent)" if route.is_exit else "")


def _share(total: int, missing: int) -> str:
    return f"{total - missing}/{total} ({percent(total, missing):.0f} %)"


def report_json(report: TestReport) -> JsonObject:
    """Write the report as the JSON document that programs read."""
    document: JsonObject = {
        "scenarios": [_outcome_json(outcome) for outcome in report.outcomes],
        "summary": {
            "scenarios": len(report.outcomes),
            "passed": report.number("passed"),
            "failed": report.number("failed"),
            "broken": report.number("broken"),
        },
    }
    judged = judged_json(report.outcomes)
    if judged:
        document["judged"] = judged
    if report.coverages:
        document["coverage"] = {
            "percent": round(overall(report.coverages), 2),
            "workflows": [_coverage_json(coverage) for coverage in report.coverages],
        }
    return document


def _outcome_json(outcome: Outcome) -> JsonObject:
    result = outcome.result
    problems: list[JsonValue] = [
        {
            "file": problem.file,
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "expected": problem.expected,
            "actual": problem.actual,
        }
        for problem in outcome.problems
    ]
    return {
        "name": outcome.name,
        "workflow": outcome.workflow,
        "file": outcome.file,
        "line": outcome.line,
        "verdict": outcome.verdict,
        "status": None if result is None else result.status,
        "signal": None if result is None else result.signal,
        "steps": None if result is None else [step.id for step in result.steps],
        "problems": problems,
        "error": None if result is None or result.error is None else result.error.to_json(),
        "duration_ms": round(outcome.duration_ms, 3),
    }


def _coverage_json(coverage: WorkflowCoverage) -> JsonObject:
    return {
        "workflow": coverage.workflow,
        "scenarios": coverage.scenarios,
        "routes": len(coverage.routes),
        "exits": len(coverage.exits),
        "uncovered": [_route_json(route) for route in coverage.uncovered],
    }


def _route_json(route: Route) -> JsonObject:
    return {"step": route.step, "signal": route.signal, "target": route.target, "exit": route.is_exit}


def report_junit(report: TestReport) -> str:
    """Write the report as JUnit XML, one suite a workflow."""
    root = ElementTree.Element("testsuites", {"name": "tuvl test", **_totals(report.outcomes)})
    for workflow in dict.fromkeys(outcome.workflow for outcome in report.outcomes):
        own = tuple(outcome for outcome in report.outcomes if outcome.workflow == workflow)
        suite = ElementTree.SubElement(root, "testsuite", {"name": sound_xml(workflow), **_totals(own)})
        for outcome in own:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                name=sound_xml(outcome.name),
                classname=sound_xml(workflow),
                file=sound_xml(outcome.file),
                line=str(outcome.line),
                time=f"{outcome.duration_ms / 1000:.3f}",
            )
            if outcome.verdict != "passed":
                tag = "failure" if outcome.verdict == "failed" else "error"
                told = ElementTree.SubElement(case, tag, message=sound_xml(outcome.problems[0].message))
                told.text = sound_xml("\n".join(_told_lines(outcome)))
    judged_suite(root, report.outcomes)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _totals(outcomes: tuple[Outcome, ...]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(sum(outcome.verdict == "failed" for outcome in outcomes)),
        "errors": str(sum(outcome.verdict == "broken" for outcome in outcomes)),
        "time": f"{sum(outcome.duration_ms for outcome in outcomes) / 1000:.3f}",
    }
