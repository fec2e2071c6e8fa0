"""`tuvl run`: checks a workflow, runs it once, prints its result."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tuvl.check.finding import Report, Severity
from tuvl.check.runner import check_document, check_paths
from tuvl.cli.flags import read_words
from tuvl.cli.options import FLAGS, RunOptions, options_of
from tuvl.cli.output import check_apart, check_destination
from tuvl.cli.render import report_text
from tuvl.cli.wording import count
from tuvl.cli.workflow_file import Located, locate
from tuvl.errors import OutputError, TuvlError, UsageError
from tuvl.project.replaced_models import check_replacements
from tuvl.settings import environment
from tuvl.shipping.mark import is_bundle
from tuvl.values import printable, printable_lines

FINDINGS = UNWRITTEN = 1
MISUSE = 2
INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Run the command from its words, without Typer; returns the exit code."""
    # What is imported and compiled before the run begins is no garbage; looking for it takes a tenth of a short run.
    gc.disable()
    try:
        return run_command(options_of(read_words(FLAGS, argv)))
    except TuvlError as error:
        sys.stderr.write(f"tuvl run: {printable_lines(str(error))}\n")
        return UNWRITTEN if isinstance(error, OutputError) else MISUSE
    except KeyboardInterrupt:
        # Before the run began there is nothing to stop, and no result.
        return INTERRUPTED
    finally:
        gc.enable()


def run_command(options: RunOptions) -> int:
    """Check and run; returns the exit code. Raises `TuvlError` for what is wrong before the run begins."""
    check_destination(options.output)
    if options.record is not None:
        check_destination(str(options.record), option="--record")
        check_apart(output=options.output, record=str(options.record))
    with _located(options) as located:
        return _run_located(options, located)


@contextmanager
def _located(options: RunOptions) -> Iterator[Located]:
    """Find what is to be run; a bundle is there as long as the block runs."""
    path = Path(options.workflow)
    if not is_bundle(path):
        if options.bundle_workflow is not None or options.bundle_digest is not None:
            raise UsageError(f"--workflow and --bundle-digest are for bundles, and {options.workflow!r} is none")
        yield locate(options.workflow, project=options.project)
        return
    if options.project is not None:
        raise UsageError("--project is not for bundles: a bundle is a project of its own")
    from tuvl.cli.bundle_file import located_in_bundle  # most runs are not of a bundle

    with located_in_bundle(path, workflow=options.bundle_workflow, digest=options.bundle_digest) as located:
        yield located


def _run_located(options: RunOptions, located: Located) -> int:
    report = _check(located)
    document = located.document
    if document is None or report.failed():
        sys.stderr.write(report_text(report, colour=_colour(), least=Severity.ERROR))
        return FINDINGS
    if report.warnings and options.events == "pretty":
        from tuvl.cli.pasted import command  # most workflows have none

        told, shown = count(report.warnings, "warning"), located.bundle or document.file
        hint = f"`{command('tuvl', 'validate', shown)}` shows them"
        sys.stderr.write(f"tuvl run: {told}; {printable(hint)}\n")
    check_replacements(options.models, document, located.project, said="--model")
    # The engine's imports are the larger part of a short run; a file with errors does not pay for them.
    from tuvl.cli.execution import execute

    return execute(options, located.project, document)


def _check(located: Located) -> Report:
    """Check a workflow with all it refers to, and the file alone when it holds no document that can be read."""
    if located.document is None:
        return check_paths([located.file], project=located.project.root)
    findings = check_document(located.document, located.project)
    texts = {file: located.project.text_of(file) or "" for file in {finding.file for finding in findings}}
    return Report.of(findings, files=len(texts), texts=texts)


def _colour() -> bool:
    environ = environment()
    return sys.stderr.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
