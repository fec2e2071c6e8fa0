"""The options of `tuvl runs prune`."""

from enum import StrEnum
from typing import Annotated

import typer

from tuvl.cli.runs_app import Format, Project, RunsFormat

PRUNE_EXAMPLES = (
    "\b\nExamples:\n  tuvl runs prune --older-than 30d --dry-run\n"
    "  tuvl runs prune --older-than 90d --status completed --yes\n\n"
)


class EndedStatus(StrEnum):
    """Choices of `--status`."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


def prune(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="TIME", help="How long ago the runs ended at least: 24h, 30d. A day is the least."
        ),
    ],
    status: Annotated[EndedStatus | None, typer.Option(help="Only runs that ended so.")] = None,
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this workflow.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many there are, and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    format_: Format = RunsFormat.TEXT,
    project: Project = None,
) -> None:
    """Delete runs that ended long ago: all that is kept of them, in databases and files.

    Runs that go on, wait for somebody or can be resumed stay, and so do those of a conversation that a later run has
    taken part in. Definitions that no run needs any more go, too. TUVL_RUNS_KEPT_FOR has servers and workers do the
    same by themselves.
    """
    from tuvl.cli.runs_prune import PruneCommand

    command = PruneCommand(
        older_than=older_than,
        status=None if status is None else status.value,
        workflow=workflow,
        project=project,
        as_json=format_ is RunsFormat.JSON,
    )
    raise typer.Exit(command.prune(dry_run=dry_run, yes=yes))
