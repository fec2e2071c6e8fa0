"""The options of `tuvl test` for the Typer app."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl test",
    "tuvl test workflows/triage.yaml --min-coverage 90",
    "tuvl test --format junit --output report.xml",
    "tuvl test --generate",
    "tuvl test --judge-model openai/gpt-4.1-mini-2025-04-14",
)


class ReportFormat(StrEnum):
    """Choices of `tuvl test --format`."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


def run_scenarios(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Scenario files, folders, or workflow files, which stand for the scenarios that test them. "
            "[default: the project of this folder]",
        ),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only the scenario of this name. Repeatable.")
    ] = None,
    format_: Annotated[
        ReportFormat, typer.Option("--format", help="Text for people, JSON or JUnit XML for programs.")
    ] = ReportFormat.TEXT,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report to FILE instead of stdout.")
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which routes and exits of agents no scenario took.")
    ] = False,
    min_coverage: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="Fail when fewer of the routes were taken; implies --coverage."),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="AgentModel or provider/model that judges `expect.judge` of the scenarios; goes before their own.",
        ),
    ] = None,
    generate: Annotated[
        bool,
        typer.Option(
            "--generate",
            help="Write a scenario for each exit of an agent that none takes. No file is overwritten.",
        ),
    ] = False,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Run the scenarios of a project: workflows with scripted models and stubbed steps.

    A scenario is a document of `kind: WorkflowTest`. It runs offline: a step that would reach outside and has no stub
    is not run, and fails the scenario. What a model is asked to judge is told apart; without a model it is skipped,
    and it never fails. Exit code 0 says that all passed, 1 that one failed or too little is covered,
    2 that there is none, or that something of the project cannot be read.
    """
    from tuvl.cli.test import TestOptions, run_tests

    options = TestOptions(
        paths=tuple(Path(path) for path in paths or ()),
        project=project,
        format=format_.value,
        output=output,
        select=tuple(select or ()),
        coverage=coverage,
        min_coverage=min_coverage,
        judge_model=judge_model,
        generate=generate,
    )
    raise typer.Exit(run_tests(options))
