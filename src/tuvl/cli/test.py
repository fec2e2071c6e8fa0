"""`tuvl test`: runs the scenarios of a project, offline, and says which routes they cover."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, assert_never

from tuvl.analysis.surroundings import hidden
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.streams import stdout_set_aside
from tuvl.cli.test_report import TestReport, report_json, report_junit, report_text, summary_lines
from tuvl.cli.wording import count
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.scenarios.coverage import WorkflowCoverage, coverage_of, overall
from tuvl.scenarios.generate import generate
from tuvl.scenarios.judging import Judges
from tuvl.scenarios.run import Outcome, run_scenarios
from tuvl.scenarios.scenario import Found, find_scenarios, select
from tuvl.scenarios.unread import unread_files
from tuvl.settings import environment, load_settings
from tuvl.suggest import did_you_mean
from tuvl.values import printable

TestFormat = Literal["text", "json", "junit"]

DONE = 0
FAILURES = 1
MISUSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOptions:
    """What the command line says."""

    paths: tuple[Path, ...] = ()
    project: str | None = None
    format: TestFormat = "text"
    output: str | None = None
    select: tuple[str, ...] = ()
    coverage: bool = False
    min_coverage: float | None = None
    judge_model: str | None = None
    generate: bool = False


def run_tests(options: TestOptions) -> int:
    """Run the scenarios, print the report, and return the exit code; raises `UsageError`."""
    check_destination(options.output)
    if options.min_coverage is not None and not 0 <= options.min_coverage <= 100:
        raise UsageError(f"--min-coverage takes a number from 0 to 100, not {options.min_coverage:g}")
    project = ProjectIndex(_root(options))
    found = select(find_scenarios(project, options.paths), options.select, project)
    unread = [] if options.select else unread_files(project, options.paths)
    if not found.scenarios and not unread and not options.generate:
        raise UsageError(_nothing(options))
    judges = _judges(options, project)
    with stdout_set_aside():
        outcomes = [*unread, *run_scenarios(project, found.scenarios, environ=environment(), judges=judges)]
    coverages = coverage_of(project, found.workflows, outcomes)
    wanted = options.coverage or options.min_coverage is not None
    report = TestReport(outcomes=tuple(outcomes), coverages=coverages if wanted else ())
    delivered = deliver(_written(report, options.format), options.output) if outcomes or wanted else True
    if outcomes:
        sys.stderr.write("".join(f"{line}\n" for line in summary_lines(report)))
    if options.generate:
        _generate(project, found, coverages)
    if _cannot_tell(outcomes, project, options):
        return MISUSE
    if not delivered:
        return FAILURES
    return FAILURES if report.failed or not _covers_enough(coverages, options.min_coverage) else DONE


def _cannot_tell(outcomes: Sequence[Outcome], project: ProjectIndex, options: TestOptions) -> bool:
    """Whether there may be scenarios where nothing can be read; says what no outcome says."""
    if options.paths or options.select:
        return any(outcome.unreadable for outcome in outcomes)
    told = {problem.message for outcome in outcomes for problem in outcome.problems}
    for message in dict.fromkeys(project.unreadable):
        if message not in told:
            sys.stderr.write(f"tuvl test: {printable(message)}\n")
    return bool(project.unreadable)


def _root(options: TestOptions) -> Path:
    if options.project is not None:
        folder = Path(options.project)
        if not folder.is_dir():
            raise UsageError(f"--project names {options.project!r}, which is no folder")
        return folder
    roots = {find_root(path) for path in options.paths} or {find_root(Path.cwd())}
    if len(roots) > 1:
        raise UsageError("the paths belong to several projects; test one project at a time")
    return roots.pop()


def _judges(options: TestOptions, project: ProjectIndex) -> Judges:
    """Return who judges; raises `UsageError` for a model that nothing of the project is called."""
    name = options.judge_model
    if name is not None and "/" not in name and name not in project.presets:
        hint = did_you_mean(name, project.presets) or "name an AgentModel of the project, or `provider/model`"
        hint = hidden(name, project) or hint
        raise UsageError(f"--judge-model names {name!r}, which is no AgentModel of this project; {hint}")
    return Judges(environ=environment(), timeout_s=load_settings().agent_judge_timeout_s, model=name)


def _nothing(options: TestOptions) -> str:
    where = ", ".join(repr(str(path)) for path in options.paths) or "this project"
    return f"there are no scenarios in {where}; write a `kind: WorkflowTest`, or start with `tuvl test --generate`"


def _written(report: TestReport, format: TestFormat) -> str:
    match format:
        case "text":
            return report_text(report)
        case "json":
            return json_document(report_json(report))
        case "junit":
            return report_junit(report)
        case _:
            assert_never(format)


def _generate(project: ProjectIndex, found: Found, coverages: Sequence[WorkflowCoverage]) -> None:
    with stdout_set_aside():
        results = generate(project, found, coverages, environ=environment())
    for each in results:
        exit = f"{each.exit.step} on {each.exit.signal}"
        if each.file is not None:
            said = f"wrote {each.file}: {each.workflow}, {exit}"
        else:
            said = f"not written: {each.workflow}, {exit}: {each.why_not}"
        sys.stderr.write(f"{printable(said)}\n")
    if not results:
        sys.stderr.write(f"nothing to write: every exit of {count(len(coverages), 'workflow')} is covered\n")


def _covers_enough(coverages: Sequence[WorkflowCoverage], least: float | None) -> bool:
    covered = overall(coverages)
    if least is None or covered >= least:
        return True
    sys.stderr.write(f"tuvl test: {covered:.1f} % of the routes are covered, --min-coverage asks for {least:g} %\n")
    return False
