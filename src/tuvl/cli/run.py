"""`tuvl run`: checks a workflow, runs it once, prints its result."""

import sys
from collections.abc import Mapping, Sequence

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.cli.flags import read_words, wants_help
from tuvl.cli.options import FLAGS, RunOptions, options_of
from tuvl.cli.output import check_destination
from tuvl.cli.workflow_file import Located, locate
from tuvl.errors import TuvlError, UsageError
from tuvl.suggest import did_you_mean

FINDINGS = 1
MISUSE = 2
INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Run the command from its words, without Typer unless help is wanted; returns the exit code."""
    if wants_help(argv):
        from tuvl.cli.app import main as typer_main  # only help needs it

        return typer_main(["run", *argv])
    try:
        return run_command(options_of(read_words(FLAGS, argv)))
    except TuvlError as error:
        sys.stderr.write(f"tuvl run: {error}\n")
        return MISUSE
    except KeyboardInterrupt:
        # Before the run began there is nothing to stop, and no result.
        return INTERRUPTED


def run_command(options: RunOptions) -> int:
    """Check and run; returns the exit code. Raises `TuvlError` for what is wrong before the run begins."""
    check_destination(options.output)
    if options.record is not None:
        check_destination(str(options.record), option="--record")
    located = locate(options.workflow, project=options.project)
    if not _sound(located):
        return FINDINGS
    if located.document is None:
        raise UsageError(f"{str(located.file)!r} holds no `kind: Workflow`")
    _check_models(options.models, located)
    # The engine's imports are the larger part of a short run; a file with errors does not pay for them.
    from tuvl.cli.execution import execute

    return execute(options, located)


def _check_models(models: Mapping[str, str], located: Located) -> None:
    """Refuse replacements of models that the workflow does not call, and by presets that are not there."""
    if not models:
        return
    steps = WorkflowView(mapping(located.document.data if located.document else None)).steps
    called = dict.fromkeys(name for step in steps if isinstance(name := step.agent.get("model"), str))
    presets = located.project.presets
    for name, preset in models.items():
        if name not in called:
            hint = did_you_mean(name, called) or (f"it calls {', '.join(called)}" if called else "it calls none")
            raise UsageError(f"--model replaces {name!r}, which the workflow does not call; {hint}")
        if "/" not in preset and preset not in presets:
            hint = did_you_mean(preset, presets) or "write a provider string such as openai/gpt-4.1-mini"
            raise UsageError(f"--model {name}={preset}: the project has no AgentModel {preset!r}; {hint}")
