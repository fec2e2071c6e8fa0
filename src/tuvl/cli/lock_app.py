"""The words of `tuvl lock`, for Typer; what they do is in `tuvl.cli.lock`."""

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = (
    "tuvl lock",
    "tuvl lock --check",
    "tuvl lock --check --offline --format json",
)


class LockFormat(StrEnum):
    """Choices of `tuvl lock --format`."""

    TEXT = "text"
    JSON = "json"


def lock(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail when something is not as it was locked, and say what.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no MCP server; its tools stay as they were locked.")
    ] = False,
    format_: Annotated[
        LockFormat, typer.Option("--format", help="How the changes are printed: words for people, JSON for programs.")
    ] = LockFormat.TEXT,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="SECONDS", help="How long a server may take to list its tools. [default: 30]"),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
) -> None:
    """Write what runs of a project depend on into tuvl.lock, or check that nothing of it has changed.

    The lock holds workflows, prompts and other artifacts, presets, scripts, nodes, data models and the tools of MCP
    servers, each with a digest and with its content, for a person to review. Servers whose tools a workflow calls are
    started or reached, and asked for them; nothing else is run. What has changed since the last lock is printed.
    """
    from tuvl.cli.lock import LockOptions
    from tuvl.cli.lock import lock as take

    options = LockOptions(check=check, offline=offline, format=format_.value, timeout=timeout, project=project)
    raise typer.Exit(take(options))
