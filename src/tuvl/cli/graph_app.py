"""The words of `tuvl graph`, for Typer; what they do is in `tuvl.cli.graph`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl graph workflows/triage.yaml",
    "tuvl graph triage --format html --output triage.html",
    "tuvl graph triage --format svg > triage.svg",
    "tuvl graph triage --format dot --no-findings | dot -Tpng -o triage.png",
)


class GraphFormat(StrEnum):
    """Choices of `tuvl graph --format`."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    HTML = "html"


def graph(
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="A workflow file, or the name of a workflow of the project.")
    ],
    format_: Annotated[
        GraphFormat,
        typer.Option("--format", help="Mermaid, the language of Graphviz, an image, or a page with all details."),
    ] = GraphFormat.MERMAID,
    findings: Annotated[
        bool, typer.Option("--findings/--no-findings", help="Check the workflow, and mark what was found.")
    ] = True,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write to FILE instead of stdout.")] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Draw a workflow: as Mermaid or Graphviz text, as an SVG image, or as an HTML page.

    The picture has the steps by kind, what each of them does outside, where each exit leads, agents with their tools,
    guardrails and bounds, and what `tuvl validate` finds. The page needs nothing but itself. A file with errors is
    drawn as far as it can be; a step that is not there shows as such.
    """
    from tuvl.cli.graph import GraphOptions
    from tuvl.cli.graph import graph as draw

    options = GraphOptions(workflow=workflow, format=format_.value, findings=findings, output=output, project=project)
    raise typer.Exit(draw(options))
