"""`tuvl diff`: what changed between two states, by class. Nothing is run, and nothing is called."""

import gc
import sys
from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

from tuvl.changes.change import GRAVE
from tuvl.changes.compare import Comparison, compare
from tuvl.changes.site import Doc
from tuvl.cli.diff_bounds import worst_cases
from tuvl.cli.diff_document import diff_document
from tuvl.cli.diff_markdown import diff_markdown
from tuvl.cli.diff_picture import pictures
from tuvl.cli.diff_sides import Opened, open_sides
from tuvl.cli.diff_text import diff_text
from tuvl.cli.diff_unread import Unread, unread_files, unread_text
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.pasted import command
from tuvl.dataclass import dataclass
from tuvl.settings import environment
from tuvl.spec.schema_files import PROSE
from tuvl.spec.shape import shape_problems
from tuvl.values import printable

DiffFormat = Literal["text", "json", "markdown"]

SAME, GRAVE_CHANGES, UNREADABLE = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """What the command line says."""

    old: str
    new: str
    format: DiffFormat = "text"
    output: str | None = None
    max_characters: int = 65_000


def diff(options: DiffOptions) -> int:
    """Print what changed; returns the exit code. Raises `UsageError`."""
    check_destination(options.output)
    # The process ends after this, and the trees of a project are no garbage: looking for it takes most of the time.
    gc.disable()
    try:
        return _diff(options)
    finally:
        gc.enable()


def _diff(options: DiffOptions) -> int:
    with open_sides(options.old, options.new) as (old, new):
        found = compare(old.side, new.side, old.roots, new.roots, files=old.is_file)
        unread = unread_files(found, old, new)
        text = _written(found, unread, options)
        notes = [unread_text(each) for each in unread]
        told = {each.file for each in unread}
        notes += [said for file, said in dict(_notes(found)).items() if file not in told]
        problems = list(dict.fromkeys((*_unreadable(old), *_unreadable(new))))
    delivered = deliver(text, options.output)
    for said in (*notes, *problems):
        sys.stderr.write(f"tuvl diff: {printable(said)}\n")
    if problems or any(each.differs for each in unread):
        return UNREADABLE
    return GRAVE_CHANGES if not delivered or any(change.cls in GRAVE for change in found.changes) else SAME


def _written(found: Comparison, unread: Sequence[Unread], options: DiffOptions) -> str:
    worst = worst_cases(found)
    document = diff_document(found, worst, unread, old=options.old, new=options.new)
    match options.format:
        case "text":
            return diff_text(document, colour=options.output is None and _coloured())
        case "json":
            return json_document(document)
        case "markdown":
            return diff_markdown(document, pictures(found), most=options.max_characters)
        case _:
            assert_never(options.format)


def _coloured() -> bool:
    environ = environment()
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _notes(found: Comparison) -> Iterator[tuple[str, str]]:
    """Say which of the files that differ have errors: they were compared as far as they can be read."""
    for pair in found.differing:
        for doc in pair:
            if doc is not None:
                yield from _errors(doc)


def _errors(doc: Doc) -> Iterator[tuple[str, str]]:
    loaded = doc.side.index.file_of(doc.document)
    if loaded is None:
        return
    errors = sum(problem.code != "TV004" for problem in loaded.problems)
    for document in loaded.documents:
        kind = PROSE if loaded.prose is not None else document.kind
        errors += len(shape_problems(document.data, kind=kind, project_default_model=True))
    if errors:
        count = "1 error" if errors == 1 else f"{errors} errors"
        hint = f"; `{command('tuvl', 'validate', doc.file)}` says more" if doc.side.prefix is None else ""
        yield doc.file, f"{doc.file} has {count}, and was compared as far as it can be read{hint}"


def _unreadable(opened: Opened) -> Iterator[str]:
    side = opened.side
    for message in side.index.unreadable:
        yield side.shown(message)
    for fault in side.index.config_faults:
        yield side.shown(f"{fault.file}: {fault.message}; the project's configuration was not compared")
    table = side.index.tool_table
    if table is not None and table.problem is not None:
        yield side.shown(f"{table.file}: {table.problem}; how much checks weigh was not compared")
