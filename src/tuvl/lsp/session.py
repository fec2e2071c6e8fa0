"""One project while it is edited: the open texts lie over its files, and what a change touches is checked again."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock

from tuvl.check.depended import configuration_findings
from tuvl.check.dispatch import EVERYTHING
from tuvl.check.finding import Finding
from tuvl.check.one_file import FileResult, check_file
from tuvl.check.rules.unused_suppression import UnusedSuppression
from tuvl.check.runner import merged
from tuvl.check.severities import weighed
from tuvl.check.touched import touched_files
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.lsp.overlay import Buffer
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import display_name, read_file

Buffers = Mapping[Path, Buffer]
"""The open texts of a project."""

Stamp = tuple[int, int]
"""When a file was last written, in nanoseconds, and how many bytes it has."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings by file, as messages call it; of a `whole` check there are no other files to show."""

    findings: Mapping[str, tuple[Finding, ...]]
    buffers: Buffers
    """The open texts that were checked."""
    index: ProjectIndex
    """The project they were checked in."""
    whole: bool = False


class CheckCancelledError(Exception):
    """Nobody waits for this check any more: there is a newer text."""


class ProjectSession:
    """The checks of one project. One thread checks at a time; who asks for the `index` holds `asking`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = Lock()
        self._index: ProjectIndex | None = None
        self._asked: ProjectIndex | None = None
        self.asking = Lock()
        """Held while a question is answered: an index is not for several threads at once."""
        self._settled: ProjectIndex | None = None
        self._laid: Buffers = {}
        self._stamps: dict[Path, Stamp | None] = {}
        self._news: set[Path] = set()
        """Files that changed on disk since the last check began; a check that is under way does not settle them."""
        self._dirty: set[Path] = set()
        self._fresh: set[Path] = set()
        self._closed: set[Path] = set()
        self._shown: frozenset[str] = frozenset()
        self._sound: dict[Path, frozenset[tuple[str, str]]] = {}

    def index(self, buffers: Buffers) -> ProjectIndex:
        """The project as the editor had it when the last check began.

        It is another index than that of the checks, which let go of files while they work.
        """
        with self._lock:
            checked = self._index or self._lay_over(buffers)
            if self._asked is None:
                self._asked = _laid_over(self.root, self._laid)
                self._asked.take_over(checked, (path for path in checked.seen() if path not in self._laid))
            return self._asked

    def changed_on_disk(self, path: Path) -> None:
        """Take note that a file was written, made or deleted by someone else."""
        self._news.add(path)

    def check(self, buffers: Buffers, *, cancelled: Callable[[], bool]) -> Iterator[Checked]:
        """Check the texts that changed, then with them all that is open, shown or touched by a change.

        Raises `CheckCancelledError` between two files when that is wanted; the next check makes up for it.
        """
        with self._lock:
            index = self._lay_over(buffers)
        results: dict[str, FileResult] = {}
        try:
            self._check_files(self._fresh & buffers.keys(), index, buffers, results, cancelled)
            if results:
                yield Checked(_judged(results, index, (), buffers), buffers, index)
            self._check_files(self._wanted(index, buffers), index, buffers, results, cancelled)
            findings = _judged(results, index, EVERYTHING.project(index), buffers)
        finally:
            self._note_stamps(index)
        if cancelled():
            raise CheckCancelledError
        self._settle(index, findings)
        yield Checked(findings, buffers, index, whole=True)

    # ---- the project as the editor has it ----------------------------------------------------------------------

    def _lay_over(self, buffers: Buffers) -> ProjectIndex:
        """Make an index in which the open texts stand in for their files, and take over what is as it was."""
        index = _laid_over(self.root, buffers)
        news, self._news = self._news, set()
        for path in news:
            self._stamps.pop(path, None)
        self._dirty |= news
        for path in buffers.keys() | self._laid.keys():
            if buffers.get(path) is not self._laid.get(path):
                self._dirty.add(path)
                self._fresh.add(path)
            if path not in buffers:
                self._closed.add(path)
        self._closed -= buffers.keys()
        if self._index is not None:
            index.take_over(self._index, self._as_they_were(self._index, buffers))
        self._laid = dict(buffers)
        self._index, self._asked = index, None
        return index

    def _as_they_were(self, older: ProjectIndex, buffers: Buffers) -> Iterator[Path]:
        for path in older.seen():
            if path in buffers or path in self._laid:
                continue
            if path in self._stamps and self._stamps[path] == _stamp(path):
                yield path
            else:
                self._stamps.pop(path, None)
                self._dirty.add(path)

    def _note_stamps(self, index: ProjectIndex) -> None:
        for path in index.seen():
            if path not in self._laid and path not in self._stamps:
                self._stamps[path] = _stamp(path)

    def _settle(self, index: ProjectIndex, findings: Mapping[str, tuple[Finding, ...]]) -> None:
        self._settled = index
        self._shown = frozenset(file for file, found in findings.items() if found)
        self._dirty.clear()
        self._fresh.clear()
        self._closed.clear()

    # ---- what is checked ---------------------------------------------------------------------------------------

    def _check_files(
        self,
        paths: Iterable[Path],
        index: ProjectIndex,
        buffers: Buffers,
        results: dict[str, FileResult],
        cancelled: Callable[[], bool],
    ) -> None:
        members = set(index.paths)
        for path in sorted(paths, key=lambda path: (path not in buffers, str(path))):
            if path not in members or display_name(path) in results:
                continue
            if cancelled():
                raise CheckCancelledError
            loaded = index.load(path)
            if loaded is not None:
                results[loaded.file] = self._result(path, check_file(loaded, index, named=False), index, buffers)

    def _result(self, path: Path, result: FileResult, index: ProjectIndex, buffers: Buffers) -> FileResult:
        buffer = buffers.get(path)
        if buffer is None or not buffer.is_broken:
            self._sound[path] = frozenset((one.code, one.message) for one in result.findings)
            return result
        # A broken text: why it is, and what was found before and is still found in what is left of it.
        told = check_file(buffer.loaded, index, named=False)
        sound = self._sound.get(path, frozenset())
        still = (one for one in result.findings if (one.code, one.message) in sound)
        return replace(result, findings=tuple(dict.fromkeys((*told.findings, *still))))

    def _wanted(self, index: ProjectIndex, buffers: Buffers) -> set[Path]:
        """The open files, those that are shown already, and those that use what a changed one defines or defined."""
        names = set(self._shown)
        changed = {path: before for path in self._dirty if (before := self._before(path)) != _text(index, path)}
        if changed:
            names |= touched_files(index, changed)
        names -= {display_name(path) for path in self._closed}
        return {*buffers, *(path for path in index.paths if display_name(path) in names)}

    def _before(self, path: Path) -> bytes | None:
        """What a file held when all was checked last; before that, what it holds on disk."""
        if self._settled is not None:
            return _text(self._settled, path)
        try:
            return read_file(path)
        except UsageError:
            return None


def _text(index: ProjectIndex, path: Path) -> bytes | None:
    text = index.text_of(display_name(path))
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _laid_over(root: Path, buffers: Buffers) -> ProjectIndex:
    index = ProjectIndex(root)
    for path, buffer in buffers.items():
        loaded = buffer.readable if buffer.holds_documents else None
        text = buffer.content.text if loaded is None else loaded.text
        index.stand_in(path, text.encode("utf-8", "surrogatepass"), loaded=loaded)
    return index


def _judged(
    results: Mapping[str, FileResult], index: ProjectIndex, of_project: Iterable[Finding], buffers: Buffers
) -> dict[str, tuple[Finding, ...]]:
    """The findings to show, by file: suppressed ones left out, the others as heavy as the project says."""
    settings = configuration_findings(index)
    shown = results.keys() | {finding.file for finding in settings}
    broken = {display_name(path) for path, buffer in buffers.items() if buffer.holds_documents and buffer.is_broken}
    by_file: dict[str, list[Finding]] = {file: [] for file in results}
    found = set(weighed(merged(results, [*of_project, *settings]), index))
    for finding in sorted(found, key=lambda finding: finding.order):
        # What a comment in a broken text would hide is not known.
        if finding.file in shown and (finding.file not in broken or finding.code != UnusedSuppression.code):
            by_file.setdefault(finding.file, []).append(finding)
    return {file: tuple(of_file) for file, of_file in by_file.items()}


def _stamp(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
