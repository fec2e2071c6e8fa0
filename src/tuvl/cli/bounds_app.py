"""The words of `tuvl bounds`, for Typer; what they do is in `tuvl.cli.bounds`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl bounds workflows/triage.yaml",
    "tuvl bounds triage --max-cost-usd 0.50 --max-tokens 200000",
    "tuvl bounds triage --format markdown > comment.md",
)


class BoundsFormat(StrEnum):
    """Choices of `tuvl bounds --format`."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def bounds(
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="A workflow file, or the name of a workflow of the project.")
    ],
    format_: Annotated[
        BoundsFormat, typer.Option("--format", help="Text for people, JSON for programs, markdown for pull requests.")
    ] = BoundsFormat.TEXT,
    max_cost_usd: Annotated[
        str | None, typer.Option(metavar="X", help="Fail when more than X US dollars are possible.")
    ] = None,
    max_tokens: Annotated[
        str | None, typer.Option(metavar="N", help="Fail when more than N tokens are possible, input and output.")
    ] = None,
    max_seconds: Annotated[
        str | None, typer.Option(metavar="S", help="Fail when more than S seconds are possible.")
    ] = None,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write to FILE instead of stdout.")] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Say what one run of a workflow uses at most.

    Model calls, tool calls, tokens, dollars and seconds, for each agent and for the run, in two figures: proved, and
    expected. Nothing is run, and nothing is called. What has no bound is said to have none. The gates hold against
    the proved figures, and against them alone; what is unbounded or unknown is within no gate.
    """
    from tuvl.cli.bounds import BoundsOptions
    from tuvl.cli.bounds import bounds as reckon

    options = BoundsOptions(
        workflow=workflow,
        format=format_.value,
        max_cost_usd=max_cost_usd,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        output=output,
        project=project,
    )
    raise typer.Exit(reckon(options))
