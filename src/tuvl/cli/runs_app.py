"""The options of `tuvl runs`."""

from enum import StrEnum
from typing import Annotated

import typer

from tuvl.errors import UsageError

runs = typer.Typer(
    help="Look at the runs on record, and control those that go on.",
    epilog="On record are durable runs, all runs of a server, and those of which an agent has `audit: true` or keeps a "
    "conversation in SQL, or whose workflow has a supervisor.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Status(StrEnum):
    """Choices of `--status`."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    SUSPENDED = "suspended"


class RunsFormat(StrEnum):
    """Choices of `--format`."""

    TEXT = "text"
    JSON = "json"


RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `tuvl runs list` shows it.")]
Format = Annotated[RunsFormat, typer.Option("--format", help="Text for people, or JSON for programs.")]
Reader = Annotated[
    str | None,
    typer.Option(
        "--principal",
        metavar="FILE",
        help="Who looks: a JSON or YAML file with id, tenant, groups and scopes; runs of another tenant are not there. "
        "[default: the local operator, who sees all]",
    ),
]
Project = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
    ),
]


@runs.command("list", epilog="\b\nExample:\n  tuvl runs list --workflow triage_ticket --status failed\n\n")
def list_(
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this workflow.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only runs that ended so.")] = None,
    by: Annotated[str | None, typer.Option(metavar="ID", help="Only runs that acted for this principal.")] = None,
    conversation: Annotated[
        str | None, typer.Option(metavar="ID", help="Only runs that took part in this conversation.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most runs shown.")] = 50,
    live: Annotated[
        bool, typer.Option("--live", help="Only runs that go on, with their state and the process that has them.")
    ] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only runs that wait for somebody: for what, for whom, and how long.")
    ] = False,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """List runs, the newest first."""
    from tuvl.cli.runs_control import RunControlCommand
    from tuvl.cli.runs_waiting import WaitingCommand
    from tuvl.data.run_rows import RunFilter

    asked = RunFilter(
        workflow=workflow,
        status=None if status is None else status.value,
        principal=by,
        conversation=conversation,
        limit=limit,
    )
    as_json = format_ is RunsFormat.JSON
    if sum((waiting, live, status is not None)) > 1:
        raise UsageError("--waiting, --live and --status exclude each other")
    if live and conversation is not None:
        raise UsageError("--live and --conversation exclude each other: what a run takes part in is known when it ends")
    if waiting:
        raise typer.Exit(WaitingCommand(project=project, principal=principal, as_json=as_json).list_waiting(asked))
    command = RunControlCommand(project=project, principal=principal, as_json=as_json)
    raise typer.Exit(command.list_live(asked) if live else command.list(asked))


@runs.command(epilog="\b\nExample:\n  tuvl runs show 4f0c…\n\n")
def show(
    run: RunId,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Show one run: how it ended, its steps, its output, what it and its conversations used.

    Of a run that waits for somebody it says all that is asked, of whom and until when, and the command that answers it.
    """
    from tuvl.cli.runs import RunsCommand

    command = RunsCommand(project=project, principal=principal, as_json=format_ is RunsFormat.JSON)
    raise typer.Exit(command.show(run))


@runs.command(epilog="\b\nExample:\n  tuvl runs trace 4f0c… --tool refund\n\n")
def trace(
    run: RunId,
    step: Annotated[str | None, typer.Option(metavar="ID", help="Only calls of this agent.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only calls of this tool.")] = None,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Show the audited model calls and tool calls of one run, in order."""
    from tuvl.cli.runs import RunsCommand
    from tuvl.data.run_rows import TraceFilter

    command = RunsCommand(project=project, principal=principal, as_json=format_ is RunsFormat.JSON)
    raise typer.Exit(command.trace(run, TraceFilter(step=step, tool=tool)))
