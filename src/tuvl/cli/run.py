"""`tuvl run`: checks a workflow, runs it once, prints its result."""

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tuvl.analysis.reference_faults import called_workflows
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Report, Severity
from tuvl.check.runner import check_document, check_paths
from tuvl.cli.flags import read_words
from tuvl.cli.options import FLAGS, RunOptions, options_of
from tuvl.cli.output import check_apart, check_destination
from tuvl.cli.render import report_text
from tuvl.cli.wording import count
from tuvl.cli.workflow_file import Located, locate
from tuvl.errors import TuvlError, UsageError
from tuvl.project.index import ProjectIndex
from tuvl.settings import environment
from tuvl.shipping.mark import is_bundle
from tuvl.source.document import Document
from tuvl.suggest import did_you_mean
from tuvl.values import printable_lines

FINDINGS = 1
MISUSE = 2
INTERRUPTED = 130

DEFAULT_MODEL = "default"
"""What agents call that name no model."""


def main(argv: Sequence[str]) -> int:
    """Run the command from its words, without Typer; returns the exit code."""
    # What is imported and compiled before the run begins is no garbage; looking for it takes a tenth of a short run.
    gc.disable()
    try:
        return run_command(options_of(read_words(FLAGS, argv)))
    except TuvlError as error:
        sys.stderr.write(f"tuvl run: {printable_lines(str(error))}\n")
        return MISUSE
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
        told, shown = count(report.warnings, "warning"), located.bundle or document.file
        sys.stderr.write(f"tuvl run: {told}; `tuvl validate {shown}` shows them\n")
    _check_models(options.models, document, located.project)
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


def _check_models(models: Mapping[str, str], document: Document, project: ProjectIndex) -> None:
    """Refuse replacements of models that the workflow does not call, and by presets that are not there."""
    if not models:
        return
    called = _called_models(document, project)
    presets = project.presets
    for name, preset in models.items():
        if name not in called:
            hint = did_you_mean(name, called) or (f"it calls {', '.join(called)}" if called else "it calls none")
            raise UsageError(f"--model replaces {name!r}, which the workflow does not call; {hint}")
        if "/" not in preset and preset not in presets:
            hint = did_you_mean(preset, presets) or "write a provider string such as openai/gpt-4.1-mini"
            raise UsageError(f"--model {name}={preset}: the project has no AgentModel {preset!r}; {hint}")


def _called_models(document: Document, project: ProjectIndex) -> dict[str, None]:
    """Return the names that agents call models by, those of the workflows that it runs inside included."""
    default = mapping(project.config.get("spec")).get("default_model")
    unnamed = [DEFAULT_MODEL, *([default] if isinstance(default, str) else [])]
    called: dict[str, None] = {}
    ahead, seen = [WorkflowView(mapping(document.data))], set[str]()
    while ahead:
        workflow = ahead.pop(0)
        for step in workflow.steps:
            if step.kind == "Agent":
                name = step.agent.get("model")
                called |= dict.fromkeys([name] if isinstance(name, str) else unnamed)
                summariser = mapping(step.agent.get("compaction")).get("model")
                called |= dict.fromkeys([summariser] if isinstance(summariser, str) else [])
        for _, inner in called_workflows(workflow):
            found = project.workflow(inner) if inner not in seen else None
            seen.add(inner)
            ahead += [] if found is None else [WorkflowView(mapping(found.data))]
    return called
