"""The words of `tuvl resume`, for Typer; what they do is in `tuvl.cli.resume`."""

from enum import StrEnum
from typing import Annotated

import typer

REPLAY_EXAMPLES = ("tuvl replay 4f0c…", "tuvl replay 4f0c… --against workflows/triage.yaml")
APPROVE_EXAMPLES = ("tuvl approve 4f0c…", 'tuvl approve 4f0c… --deny --note "wrong customer"')
CANCEL_EXAMPLE = '\b\nExample:\n  tuvl runs cancel 4f0c… --reason "no longer wanted"\n\n'
EXAMPLES = (
    "tuvl resume 4f0c…",
    "tuvl resume 4f0c… --outcome done --answer created.json",
    "tuvl resume 4f0c… --outcome retry",
)


class Outcome(StrEnum):
    """Choices of `--outcome`."""

    DONE = "done"
    RETRY = "retry"
    FAILED = "failed"


class Events(StrEnum):
    """Choices of `--events`."""

    PRETTY = "pretty"
    JSONL = "jsonl"
    NONE = "none"


RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a durable run, as `tuvl runs list` shows it.")]
ShownEvents = Annotated[Events, typer.Option(help="What stderr shows of the run, as with `tuvl run`.")]
Answerer = Annotated[
    str | None,
    typer.Option(
        "--principal",
        metavar="FILE",
        help="Who answers: a JSON or YAML file with id, tenant, groups and scopes. [default: the local operator]",
    ),
]
Output = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the result document to FILE instead of stdout.")
]
Project = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
    ),
]


def resume(
    run: RunId,
    outcome: Annotated[
        Outcome | None,
        typer.Option(
            help="What became of the step whose process was lost: it was done, it is to be done again, or it failed."
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="JSON or YAML file with the answer that the run waits for; with --outcome done, the keys that the "
            "step would have set.",
        ),
    ] = None,
    on_new_definition: Annotated[
        bool,
        typer.Option(
            "--on-new-definition",
            help="Go on with the files as they are now, if they would have come to what is recorded; else say where "
            "they part.",
        ),
    ] = False,
    events: ShownEvents = Events.PRETTY,
    principal: Answerer = None,
    output: Output = None,
    project: Project = None,
) -> None:
    """Go on with a durable run whose process was lost, or that waits for somebody, and print its result.

    What is recorded is not done again. The run goes on with the files it was started with; when they have changed
    since, stderr says so. A run that has ended is not run again: its result is printed once more. The exit code is
    that of `tuvl run`: 0 completed, 1 failed, 3 still waiting, 4 aborted.
    """
    from tuvl.cli.resume import ResumeOptions, resume_run

    options = ResumeOptions(
        run=run,
        outcome=None if outcome is None else outcome.value,
        answer=answer,
        on_new_definition=on_new_definition,
        principal=principal,
        events=events.value,
        output=output,
        project=project,
    )
    raise typer.Exit(resume_run(options))


def approve(
    run: RunId,
    deny: Annotated[bool, typer.Option("--deny", help="Refuse the call; the model is told so, and goes on.")] = False,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; the model is told it with a refusal.")] = None,
    events: ShownEvents = Events.PRETTY,
    principal: Answerer = None,
    output: Output = None,
    project: Project = None,
) -> None:
    """Allow, or refuse, the tool call that a durable run waits with, and go on with the run.

    `tuvl runs show RUN` says which call it is, and shows its arguments. The answer counts for that call with those
    arguments, and once: a second one is refused. The result is printed as with `tuvl resume`.
    """
    from tuvl.cli.answering import Decision
    from tuvl.cli.resume import ResumeOptions, resume_run

    options = ResumeOptions(
        run=run,
        decision=Decision(approved=not deny, note=note),
        principal=principal,
        events=events.value,
        output=output,
        project=project,
    )
    raise typer.Exit(resume_run(options))


def cancel(
    run: RunId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stands in the result.")] = "cancelled by request",
    events: ShownEvents = Events.PRETTY,
    output: Output = None,
    project: Project = None,
) -> None:
    """Stop a durable run that no process has: it waits for somebody, or its process was lost.

    It ends as aborted, and the steps routed from `aborted` still run. A run that a process has is stopped with
    `tuvl runs abort`. The exit code is 4, that of aborted runs.
    """
    from tuvl.cli.resume import ResumeOptions, resume_run

    options = ResumeOptions(run=run, cancel=reason, events=events.value, output=output, project=project)
    raise typer.Exit(resume_run(options))


def replay(
    run: RunId,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="WORKFLOW",
            help="A workflow file, or the name of one of the project. [default: what the run was started with]",
        ),
    ] = None,
    project: Project = None,
) -> None:
    """Go through the record of a durable run with a workflow, doing nothing, and say where the two part.

    No model, tool or step is called: their recorded outcomes stand in for them. Prints JSON: how many entries there
    are, and the first one that the workflow would not have come to, if any. Exit code 1 when there is one.
    """
    from tuvl.cli.replay import replay_run

    raise typer.Exit(replay_run(run, against=against, project=project))
