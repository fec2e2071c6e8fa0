"""The words of `tuvl resume`, for Typer; what they do is in `tuvl.cli.resume`."""

from enum import StrEnum
from typing import Annotated

import typer

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


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a durable run, as `tuvl runs list` shows it.")],
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
    events: Annotated[Events, typer.Option(help="What stderr shows of the run, as with `tuvl run`.")] = Events.PRETTY,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result document to FILE instead of stdout.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The project's root folder. [default: the nearest one with a tuvl.yaml, going upwards]"
        ),
    ] = None,
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
        events=events.value,
        output=output,
        project=project,
    )
    raise typer.Exit(resume_run(options))
