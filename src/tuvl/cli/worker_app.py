"""The words of `tuvl worker`, and of `tuvl runs fork`, for Typer."""

from typing import Annotated

import typer

from tuvl.cli.resume_app import Events, Output, Project, RunId, ShownEvents

EXAMPLES = ("tuvl worker", "tuvl worker --concurrency 20")
FORK_EXAMPLE = "\b\nExample:\n  tuvl runs fork 4f0c… --at review\n\n"


def worker(
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most runs that this process performs at once.")
    ] = 10,
    grace: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="After SIGTERM, how long calls that are in flight may take, before they are cut off.",
        ),
    ] = 10.0,
    project: Project = None,
) -> None:
    """Perform durable runs of a project, beside other workers on the PostgreSQL of TUVL_DATABASE_URL.

    It takes runs that were started with `tuvl run --durable --detach` or by a server, those that somebody has answered,
    and within seconds those of a process that died. It starts what `trigger.schedule` of the workflows makes due, each
    time once, however many workers there are. SIGTERM and Ctrl-C leave what goes on to the other workers, after the
    call that is in flight; said twice, the process ends at once. What it does is said on stderr.
    """
    from tuvl.cli.worker import work

    raise typer.Exit(work(project=project, concurrency=concurrency, grace_s=grace))


def fork(
    run: RunId,
    at: Annotated[
        str, typer.Option("--at", metavar="STEP", help="First step to be run anew: the first visit of it, in a loop.")
    ],
    principal: Annotated[
        str | None,
        typer.Option(
            "--principal",
            metavar="FILE",
            help="Whom the fork acts for: a JSON or YAML file with id, tenant, groups and scopes. [default: the local "
            "operator]",
        ),
    ] = None,
    events: ShownEvents = Events.PRETTY,
    output: Output = None,
    project: Project = None,
) -> None:
    """Run a durable run anew from a step on, as another run with an id of its own, and print its result.

    What the first run had on record before it first came to the step is taken over and not done again; its input and
    its definition are those of the fork, too. What people have answered is asked again. The run itself stays as it is.
    The exit code is that of `tuvl run`.
    """
    from tuvl.cli.forking import fork_run

    raise typer.Exit(fork_run(run, at, principal=principal, events=events.value, output=output, project=project))
