"""`tuvl validate`: static checks, read without Typer, whose import would take longer than the checks."""

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never, cast, get_args

from tuvl.check.finding import Report, Severity
from tuvl.check.memory import FEWEST, Memory, Question
from tuvl.cli.flags import Flags, Words, limit_of, read_words
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.render import report_json, report_text, summary_line
from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError, UsageError
from tuvl.project.layout import absolute, display_name
from tuvl.settings import environment
from tuvl.shipping.mark import is_bundle
from tuvl.suggest import did_you_mean
from tuvl.values import printable, printable_lines

if TYPE_CHECKING:
    from tuvl.check.targets import Target
    from tuvl.project.index import ProjectIndex

ReportFormat = Literal["text", "json", "jsonl", "sarif", "github", "junit"]

FLAGS = Flags(
    command="validate",
    values=frozenset({"--project", "--format", "--output", "--changed-since", "--max-cost-usd"}),
    repeated=frozenset({"--select", "--ignore"}),
    switches=frozenset({"--strict", "--quiet", "--fix", "--dry-run", "--no-cache"}),
)

_GARBAGE = 100_000
"""Objects made and kept after which Python looks for garbage. The trees of a file are none, so that looking for it as
often as it does by itself takes a third of the time."""

DONE = 0
FINDINGS = 1
MISUSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """What the command line says, each word checked."""

    paths: tuple[Path, ...] = ()
    project: Path | None = None
    strict: bool = False
    format: ReportFormat = "text"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    output: str | None = None
    quiet: bool = False
    changed_since: str | None = None
    max_cost_usd: float | None = None
    fix: bool = False
    dry_run: bool = False
    cache: bool = True
    """Whether a report that is kept may be told again, and this one be kept."""


def options_of(words: Words) -> ValidateOptions:
    """Check the words one by one; raises `UsageError`."""
    chosen = words.one("--format") or "text"
    formats = get_args(ReportFormat)
    if chosen not in formats:
        hint = did_you_mean(chosen, formats) or f"it takes one of {', '.join(formats)}"
        raise UsageError(f"--format does not take {chosen!r}; {hint}")
    project = words.one("--project")
    if project is not None and not Path(project).is_dir():
        raise UsageError(f"--project names {project!r}, which is no folder")
    if words.on("--dry-run") and not words.on("--fix"):
        raise UsageError("--dry-run is for --fix: it shows what would be mended and writes nothing")
    return ValidateOptions(
        paths=tuple(Path(argument) for argument in words.arguments),
        project=None if project is None else Path(project),
        strict=words.on("--strict"),
        format=cast(ReportFormat, chosen),
        select=words.all("--select"),
        ignore=words.all("--ignore"),
        output=words.one("--output"),
        quiet=words.on("--quiet"),
        changed_since=words.one("--changed-since"),
        max_cost_usd=limit_of("--max-cost-usd", words.one("--max-cost-usd")),
        fix=words.on("--fix"),
        dry_run=words.on("--dry-run"),
        cache=not words.on("--no-cache"),
    )


def main(argv: Sequence[str]) -> int:
    """Run the command from its words; returns the exit code."""
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])
    try:
        return validate(options_of(read_words(FLAGS, argv)))
    except TuvlError as error:
        sys.stderr.write(f"tuvl validate: {printable_lines(str(error))}\n")
        return MISUSE


def validate(options: ValidateOptions) -> int:
    """Check, print the report, and return the exit code; raises `UsageError`."""
    check_destination(options.output)
    written = shown = True
    if options.fix:
        report, written, shown = _fix(options)
    else:
        report = _answer(options)
    delivered = deliver(_written(report, options), options.output) and shown
    for message in report.unreadable:
        sys.stderr.write(f"tuvl validate: {printable(message)}\n")
    if not options.quiet:
        sys.stderr.write(f"{summary_line(report)}\n")
    if report.broken or not written:
        return MISUSE
    if not delivered:
        return FINDINGS
    return FINDINGS if report.failed(strict=options.strict) else DONE


def _answer(options: ValidateOptions) -> Report:
    """Tell the report that is kept, if one holds; else check, and keep the report."""
    if not _may_be_kept(options):
        return _check(options)
    question = Question(
        paths=options.paths,
        project=options.project,
        select=options.select,
        ignore=options.ignore,
        max_cost_usd=options.max_cost_usd,
        strict=options.strict,
    )
    memory = Memory(question)
    return memory.recall() or memory.keep(partial(_check, options))


def _may_be_kept(options: ValidateOptions) -> bool:
    # What changed rests on the history of git, too; a bundle is unpacked to another place each time.
    if not options.cache or options.changed_since is not None or any(map(is_bundle, options.paths)):
        return False
    return not options.paths or len(options.paths) >= FEWEST or any(path.is_dir() for path in options.paths)


def _check(
    options: ValidateOptions,
    stand_ins: Mapping[Path, bytes] | None = None,
    *,
    afterwards: "Callable[[Sequence[Target], Report], None] | None" = None,
) -> Report:
    if any(map(is_bundle, options.paths)):
        return _check_bundle(options)
    from tuvl.check.runner import check_paths  # loads all the checks; a report that is kept needs none of them

    touched: Callable[[ProjectIndex], frozenset[str]] | None = None
    if options.changed_since is not None:
        from tuvl.cli.changes import touched_since  # starts git, which most checks do not

        touched = partial(touched_since, ref=options.changed_since)
    return check_paths(
        options.paths,
        project=options.project,
        select=options.select,
        ignore=options.ignore,
        jobs=_processors(),
        stand_ins=stand_ins,
        touched=touched,
        max_cost_usd=options.max_cost_usd,
        strict=options.strict,
        afterwards=afterwards,
    )


def _check_bundle(options: ValidateOptions) -> Report:
    from tuvl.check.runner import check_paths  # see `_check`
    from tuvl.cli.bundle_check import check_bundle  # most checks are not of a bundle

    if options.fix or options.changed_since is not None or options.project is not None:
        raise UsageError("--fix, --changed-since and --project are not for bundles: a bundle is as it was written")

    def check(folder: Path) -> Report:
        return check_paths(
            [folder],
            project=folder,
            select=options.select,
            ignore=options.ignore,
            jobs=_processors(),
            max_cost_usd=options.max_cost_usd,
            strict=options.strict,
        )

    return check_bundle(options.paths, check)


def _fix(options: ValidateOptions) -> tuple[Report, bool, bool]:
    """Mend what is certain, and show it.

    Returns what there is to find in the files as they are then, whether every file could be written that should be, and
    whether the diff could be shown.
    """
    from tuvl.cli.fixing import counted_text, diff_text, fix, write_fixed  # compares texts, which a check does not

    paths: dict[str, Path] = {}

    def note(targets: "Sequence[Target]", report: Report) -> None:
        # A name that is no UTF-8 is shown with escapes, from which its file cannot be told.
        for target in targets:
            paths.update((display_name(path), path) for path in (*target.index.paths, *target.asked.named))

    def path_of(file: str) -> Path:
        return paths.get(file) or absolute(Path(file))

    fixed = fix(partial(_check, options, afterwards=note), path_of)
    written = frozenset[Path]() if options.dry_run else write_fixed(fixed)
    text, shown = diff_text(fixed), True
    if options.format == "text" and options.output is None:
        shown = deliver(printable_lines(text) if sys.stdout.isatty() else text, None)
    else:
        sys.stderr.write(printable_lines(text))
    if not options.quiet:
        sys.stderr.write(counted_text(fixed, written))
    if options.dry_run:
        return fixed.found, True, shown
    if written == fixed.files.keys():
        return fixed.left, True, shown
    return _check(options), False, shown  # what could not be written has its mistakes still


def _processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _written(report: Report, options: ValidateOptions) -> str:
    match options.format:
        case "text":
            return _text(report, options)
        case "json":
            return json_document(report_json(report))
        case "jsonl":
            from tuvl.cli.render_jsonl import report_jsonl

            return report_jsonl(report)
        case "sarif":
            from tuvl.cli.render_sarif import report_sarif

            return json_document(report_sarif(report))
        case "github":
            from tuvl.cli.render_github import report_github

            return report_github(report)
        case "junit":
            from tuvl.cli.render_junit import report_junit

            return report_junit(report, strict=options.strict)
        case other:
            assert_never(other)


def _text(report: Report, options: ValidateOptions) -> str:
    least = Severity.NOTE
    if options.quiet:
        least = Severity.WARNING if options.strict else Severity.ERROR
    return report_text(report, colour=options.output is None and _wants_colour(), least=least)


def _wants_colour() -> bool:
    environ = environment()
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
