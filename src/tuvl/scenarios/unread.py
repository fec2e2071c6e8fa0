"""Files that may hold scenarios and cannot be read as such: none of them may be passed over as if it were not there."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Severity
from tuvl.check.one_file import check_file
from tuvl.check.runner import merged
from tuvl.errors import UsageError
from tuvl.project.hiding import may_hold, may_mention
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import absolute, is_prose
from tuvl.project.loading import LoadedFile, display_name, read_file
from tuvl.scenarios.run import Outcome, Problem, problem_of
from tuvl.scenarios.scenario import KIND, hides

UNREAD = "<not read>"
"""Stands in for the name of a scenario whose file cannot be read."""


def unread_files(project: ProjectIndex, paths: Sequence[Path] = ()) -> list[Outcome]:
    """Return an outcome for each file that may hold scenarios and is no YAML, or holds a misspelt kind.

    Without paths it is every file in the folder of scenarios, and every other one that mentions their kind, or one that
    looks like it, or cannot be read at all. With paths it is the files that they name, and of those the ones below the
    folders that they name; the file of a workflow stands for what mentions its name.
    """
    asked, tests = [path.resolve() for path in paths], project.folder("tests").resolve()
    names = set(_workflows(project, asked))
    read = {document.file for document in project.documents(KIND)}
    outcomes = []
    for path in dict.fromkeys((*(absolute(path) for path in paths if path.is_file()), *project.paths)):
        full = path.resolve()
        below = not asked or any(folder in full.parents for folder in asked) or _mentions(project, path, names)
        if full in asked or (below and not is_prose(path) and _may_be_meant(project, path, full, tests)):
            outcomes.append(None if display_name(path) in read else _outcome(project, path))
    return [outcome for outcome in outcomes if outcome is not None]


def _may_be_meant(project: ProjectIndex, path: Path, full: Path, tests: Path) -> bool:
    raw = project.raw(path)
    return tests in full.parents or raw is None or may_hold(raw, KIND)


def _workflows(project: ProjectIndex, asked: Sequence[Path]) -> Iterator[str]:
    for document in project.documents("Workflow"):
        if Path(document.file).resolve() in asked:
            yield WorkflowView(mapping(document.data)).name


def _mentions(project: ProjectIndex, path: Path, names: Collection[str]) -> bool:
    raw = project.raw(path) if names else None
    return raw is not None and any(may_mention(raw, name) for name in names)


def _outcome(project: ProjectIndex, path: Path) -> Outcome | None:
    loaded = project.load(path)
    problems = (_unreadable(path),) if loaded is None else tuple(_mistakes(loaded, project))
    if not problems:
        return None
    first, unreadable = problems[0], loaded is None
    return Outcome(
        name=UNREAD,
        workflow="",
        file=first.file,
        line=first.line,
        verdict="broken",
        problems=problems,
        unreadable=unreadable,
    )


def _unreadable(path: Path) -> Problem:
    try:
        read_file(path)
    except UsageError as error:
        said = str(error)
    else:
        said = "it could not be read a moment ago"
    return Problem(file=display_name(path), line=1, column=1, message=said)


def _mistakes(loaded: LoadedFile, project: ProjectIndex) -> Iterator[Problem]:
    """Yield what `validate` calls errors of a file that hides what it holds; of any other file nothing."""
    if not hides(loaded):
        return
    for finding in merged({loaded.file: check_file(loaded, project, named=False)}, ()):
        if finding.severity is Severity.ERROR:
            yield problem_of(finding)
