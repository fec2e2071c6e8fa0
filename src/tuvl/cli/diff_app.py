"""The words of `tuvl diff`, for Typer; what they do is in `tuvl.cli.diff`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl diff git:origin/main .",
    "tuvl diff git:HEAD~1 workflows/triage.yaml",
    "tuvl diff git:v1.2:workflows git:HEAD:workflows --format json",
    "tuvl diff git:origin/main . --format markdown --output comment.md",
)


class DiffFormat(StrEnum):
    """Choices of `tuvl diff --format`."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def diff(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="A file, a folder, git:REF for what NEW names as it was at a commit, or git:REF:PATH.",
        ),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same, for the new state.")],
    format_: Annotated[
        DiffFormat, typer.Option("--format", help="Text for people, JSON for programs, markdown for pull requests.")
    ] = DiffFormat.TEXT,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write to FILE instead of stdout.")] = None,
    max_characters: Annotated[
        int, typer.Option(metavar="N", min=2000, help="Longest markdown; what does not fit is counted.")
    ] = 65_000,
) -> None:
    """Say what a change means: for callers, for authority, for behaviour.

    A workflow is compared with all that it refers to: prompts, guardrails, models, data models, nodes, other workflows
    and the project's policy. The exit code is 1 when something breaks callers or widens authority, 0 otherwise, and 2
    when a side cannot be read. What a commit held is read from git; the work tree is not touched, and nothing is run.
    """
    from tuvl.cli.diff import DiffOptions
    from tuvl.cli.diff import diff as compare

    options = DiffOptions(old=old, new=new, format=format_.value, output=output, max_characters=max_characters)
    raise typer.Exit(compare(options))
