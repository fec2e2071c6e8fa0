"""Reports that are kept, and told again while all that they rest on is as it was.

A report is found by what was asked for, and by which tuvl was asked. It holds while the same files are there, each
with the content it had, and the variables that were asked for are set or not as they were. It is kept in the user's own
cache folder, never in the project: what a repository brings along must not speak for the gate.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tuvl
from tuvl.check.finding import CANNOT_CHECK, Finding, Report, Severity
from tuvl.dataclass import dataclass
from tuvl.files import write_whole
from tuvl.project.asked import Asked, asked_for, walked_in
from tuvl.project.layout import MISSPELT_FILE, PROJECT_FILE, walk
from tuvl.project.witness import Seen, Stamp, digest, witness
from tuvl.settings import environment

if TYPE_CHECKING:
    from tuvl.check.targets import Target

FEWEST = 20
"""Files a check must have looked at for its report to be kept; for fewer, most of the time goes into starting."""

MOST_BYTES = 32 * 1024 * 1024
"""Size above which a report is not kept."""

MOST_REPORTS = 20
"""Reports that are kept; the oldest go first."""

_SETTLED_NS = 2_000_000_000
"""Time that must lie between the last change of a file and a check for its stamp to be believed: within the grain of a
file system's clock a file can change twice and look as if it had once."""

_FORMAT = 1
_LOOKED_FOR = (PROJECT_FILE, MISSPELT_FILE, "pyproject.toml")
_FINDING = tuple(Finding.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a check is asked; the answer rests on nothing else but files and variables."""

    paths: tuple[Path, ...]
    project: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    max_cost_usd: float | None
    strict: bool = False


class Memory:
    """The report that answers one question: `recall` it, or else `keep` that of a check."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._began_ns = time.time_ns()
        self._file = _file_for(question)

    def recall(self) -> Report | None:
        """Return the report; `None` when there is none, or when something it rests on has changed."""
        try:
            if self._file is None or not _is_ours(self._file.parent):
                return None
            kept = json.loads(self._file.read_bytes())
            return _report(kept) if kept.get("format") == _FORMAT and self._holds(kept) else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            # None, or none of ours: it is written anew.
            return None

    def keep(self, check: "Callable[..., Report]") -> Report:
        """Run a check, keep its report, and return it; one that could not look at everything is not kept."""
        seen = witness.watch()
        try:
            return check(afterwards=partial(self._keep, seen))
        finally:
            witness.rest()

    def _keep(self, seen: Seen, targets: "Sequence[Target]", report: Report) -> None:
        if self._file is None or not _can_be_kept(report):
            return
        kept = {
            "format": _FORMAT,
            "began": self._began_ns,
            "projects": [_project(target) for target in targets],
            "files": {path: [*stamp, content] for path, (stamp, content) in seen.files.items()},
            "variables": seen.variables,
            "checked": report.checked,
            "findings": [[getattr(finding, name) for name in _FINDING] for finding in report.findings],
            "texts": list(report.texts),
        }
        _write(self._file, json.dumps(kept, separators=(",", ":")))

    def _holds(self, kept: Mapping[str, Any]) -> bool:
        environ = environment()
        if any((name in environ) != was for name, was in kept["variables"].items()):
            return False
        return self._same_files(kept["projects"]) and all(
            _is_same(path, known, kept["began"]) for path, known in kept["files"].items()
        )

    def _same_files(self, projects: Sequence[Mapping[str, Any]]) -> bool:
        asked = asked_for(self._question.paths, project=self._question.project)
        if asked.missing or len(asked.projects) != len(projects):
            return False
        pairs = zip(asked.projects, projects, strict=True)
        return all(_found(each, Path(known["prose"]), Path(known["nodes"])) == known for each, known in pairs)


def _can_be_kept(report: Report) -> bool:
    looked = len(report.checked) >= FEWEST and not report.unreadable
    return looked and all(finding.code not in CANNOT_CHECK for finding in report.findings)


def _project(target: "Target") -> dict[str, Any]:
    """Name all that the check of one project found there."""
    asked, index = target.asked, target.index
    return _listing(
        asked,
        prose=index.folder("artifacts"),
        nodes=index.folder("nodes"),
        paths=index.paths,
        walked=target.walked,
        node_files=index.node_paths,
    )


def _found(asked: Asked, prose: Path, nodes: Path) -> dict[str, Any]:
    """Name all that a check would find there now; raises `OSError` for a folder that cannot be listed."""
    if asked.unlisted:
        raise asked.unlisted[0]
    paths = list(walk(asked.root, prose=prose))
    walked = paths if asked.whole else walked_in(asked.folders, prose=prose)
    return _listing(asked, prose=prose, nodes=nodes, paths=paths, walked=walked, node_files=nodes.glob("*.py"))


def _listing(
    asked: Asked,
    *,
    prose: Path,
    nodes: Path,
    paths: Iterable[Path],
    walked: Iterable[Path],
    node_files: Iterable[Path],
) -> dict[str, Any]:
    return {
        "root": str(asked.root),
        "named": [str(path) for path in asked.named],
        "folders": [str(path) for path in asked.folders],
        "holds_projects": asked.holds_projects,
        "prose": str(prose),
        "nodes": str(nodes),
        "paths": [str(path) for path in paths],
        "walked": None if asked.whole else [str(path) for path in walked],
        "node_files": sorted(str(path) for path in node_files),
        "looked_for": [name for name in _LOOKED_FOR if os.path.lexists(asked.root / name)],
    }


def _is_same(path: str, known: Sequence[Any], began_ns: int) -> bool:
    """Whether a file holds what it held."""
    *stamp, content = known
    now = Stamp.of(os.stat(path))
    settled = max(now.modified_ns, now.changed_ns) + _SETTLED_NS < began_ns
    if settled and list(now) == stamp:
        return True
    if now.size != stamp[0]:
        return False
    with open(path, "rb") as stream:
        same: bool = digest(stream.read()) == content
        return same


def _report(kept: Mapping[str, Any]) -> Report:
    findings = [_finding(values) for values in kept["findings"]]
    texts = {file: Path(file).read_bytes().decode("utf-8", "replace").removeprefix("\ufeff") for file in kept["texts"]}
    return Report.of(findings, files=len(kept["checked"]), texts=texts, checked=kept["checked"])


def _finding(values: Sequence[Any]) -> Finding:
    named = dict(zip(_FINDING, values, strict=True))
    return Finding(**{**named, "severity": Severity(named["severity"])})


# ---- where reports are kept ------------------------------------------------------------------------------------


def _file_for(question: Question) -> Path | None:
    """Return the file for the answer; `None` where none can be kept."""
    folder, which = _folder(), _which_tuvl()
    if folder is None or which is None:
        return None
    asked = {
        "tuvl": which,
        "here": os.getcwd(),
        "home": os.path.expanduser("~"),
        "paths": [str(path) for path in question.paths],
        "project": None if question.project is None else str(question.project),
        "select": question.select,
        "ignore": question.ignore,
        "max_cost_usd": question.max_cost_usd,
        "strict": question.strict,
    }
    return folder / f"{digest(json.dumps(asked).encode('utf-8', 'surrogatepass'))[:32]}.json"


def _folder() -> Path | None:
    environ = environment()
    base = environ.get("LOCALAPPDATA") if sys.platform == "win32" else environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path(os.path.expanduser("~"), ".cache")
    return root / "tuvl" / "reports" if root.is_absolute() else None


def _which_tuvl() -> str | None:
    """Tell this tuvl, and the libraries it checks with, from any other; `None` when that cannot be told."""
    found = [sys.version, tuvl.__version__]
    library = find_spec("yaml")
    try:
        for folder, _, names in sorted(os.walk(Path(tuvl.__file__).parent)):
            for name in sorted(names):
                if name.endswith((".py", ".json")):
                    stamp = os.stat(os.path.join(folder, name))
                    found.append(f"{folder} {name} {stamp.st_size} {stamp.st_mtime_ns}")
        beside = Path(library.origin or "").parent.parent if library is not None else Path()
        found += sorted(name for name in os.listdir(beside) if name.endswith(".dist-info"))
    except OSError:
        return None
    return digest("\n".join(found).encode("utf-8", "surrogateescape")) if len(found) > 2 else None


def _write(file: Path, text: str) -> None:
    """Write a report, if it may be written, and let go of the oldest."""
    if len(text) > MOST_BYTES:
        return
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(file.parent):
            return
        write_whole(file, text, within=file.parent)
        for old in sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)[:-MOST_REPORTS]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can put a report there."""
    status = os.stat(folder)
    return sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
