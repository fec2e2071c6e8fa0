"""The options of `tuvl runs pause|resume|steer|abort`."""

from typing import Annotated

import typer

from tuvl.cli.runs_app import Format, Project, Reader, RunId, RunsFormat
from tuvl.control import ControlAction

By = Annotated[
    str | None,
    typer.Option("--by", metavar="WHO", help="Who does it, for events and audit. [default: the principal's id]"),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the run has read it, and say whether it did.")]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Longest wait of --wait, in seconds.")
]

_EXAMPLE = "\b\nExample:\n  tuvl runs {} 4f0c… {}\n\n"


def pause(
    run: RunId,
    by: By = None,
    wait: Wait = False,
    timeout: Timeout = 10.0,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Let a live run begin nothing more: no step, no turn, no tool. One that stays paused too long is aborted."""
    _direct("pause", run, "", by, timeout if wait else None, format_, principal, project)


def resume(
    run: RunId,
    by: By = None,
    wait: Wait = False,
    timeout: Timeout = 10.0,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Let a paused run go on, whoever or whatever paused it."""
    _direct("resume", run, "", by, timeout if wait else None, format_, principal, project)


def steer(
    run: RunId,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Guidance for the agent that works next.")],
    by: By = None,
    wait: Wait = False,
    timeout: Timeout = 10.0,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Say something to the agent of a live run; it changes neither its tools, nor its outcomes, nor its task."""
    _direct("steer", run, message, by, timeout if wait else None, format_, principal, project)


def abort(
    run: RunId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the run's result and the audit.")] = "",
    by: By = None,
    wait: Wait = False,
    timeout: Timeout = 10.0,
    format_: Format = RunsFormat.TEXT,
    principal: Reader = None,
    project: Project = None,
) -> None:
    """Stop a live run: what is in flight is cancelled, steps routed from `aborted` still run."""
    _direct("abort", run, reason, by, timeout if wait else None, format_, principal, project)


def _direct(
    kind: ControlAction,
    run: str,
    message: str,
    by: str | None,
    wait_s: float | None,
    format_: RunsFormat,
    principal: str | None,
    project: str | None,
) -> None:
    from tuvl.cli.runs_control import RunControlCommand

    command = RunControlCommand(project=project, principal=principal, as_json=format_ is RunsFormat.JSON)
    raise typer.Exit(command.direct(run, kind, message, by=by, wait_s=wait_s))


def add_to(runs: typer.Typer) -> None:
    """Add the commands to `tuvl runs`."""
    runs.command(epilog=_EXAMPLE.format("pause", "--wait"))(pause)
    runs.command(epilog=_EXAMPLE.format("resume", "--wait"))(resume)
    runs.command(epilog=_EXAMPLE.format("steer", '"Do not refund anything."'))(steer)
    runs.command(epilog=_EXAMPLE.format("abort", '--reason "wrong customer" --by ann'))(abort)
