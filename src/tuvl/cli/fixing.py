"""`tuvl validate --fix`: mends what is certain, shows it as a diff, and writes it unless that is not wanted."""

import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tuvl.check.finding import Finding, Report
from tuvl.cli.wording import count
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.files import write_whole
from tuvl.project.layout import YAML_SUFFIXES, find_root, is_prose
from tuvl.project.loading import display_name
from tuvl.source.place import Position, Range
from tuvl.source.rewrite import Replacement, rewrite
from tuvl.values import printable

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

MOST_ROUNDS = 10
"""Rounds of mending; a later one mends what could only be seen once an earlier one had mended what it stood in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What can be mended."""

    found: Report
    """What there is to find in the files as they are."""
    left: Report
    """What is left to find once all of it is written."""
    files: Mapping[Path, tuple[bytes, bytes]]
    """File → its bytes before and after; only files that change."""
    counts: Mapping[Path, int]
    """The same files → how many findings are mended in each."""


def fix(check: Callable[[Mapping[Path, bytes]], Report], path_of: Callable[[str], Path]) -> Fixed:
    """Mend in memory until nothing is left that can be.

    `check` takes what to read in place of files, `path_of` finds the file that findings call so.
    """
    before: dict[Path, bytes] = {}
    now: dict[Path, bytes] = {}
    counts: dict[Path, int] = {}
    found = report = check(now)
    for _ in range(MOST_ROUNDS):
        changed = False
        for path, replacements in _by_file(report, path_of).items():
            raw = now[path] if path in now else _read(path)
            mended, number = rewrite(raw, replacements, prose=is_prose(path))
            if mended != raw:
                before.setdefault(path, raw)
                now[path] = mended
                counts[path] = counts.get(path, 0) + number
                changed = True
        if not changed:
            break
        report = check(now)
    files = {path: (before[path], now[path]) for path in sorted(now) if before[path] != now[path]}
    return Fixed(found=found, left=report, files=files, counts={path: counts[path] for path in files})


def _by_file(report: Report, path_of: Callable[[str], Path]) -> Mapping[Path, list[Replacement]]:
    found: dict[Path, list[Replacement]] = {}
    for finding in report.findings:
        path = path_of(finding.file)
        if finding.replacement is not None and (path.suffix.lower() in YAML_SUFFIXES or is_prose(path)):
            found.setdefault(path, []).append(Replacement(place=_place(finding), new=finding.replacement))
    return found


def _place(finding: Finding) -> Range:
    return Range(Position(finding.line, finding.column), Position(finding.end_line, finding.end_column))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {display_name(path)!r}: {(error.strerror or 'unknown reason').lower()}"
        ) from None


def diff_text(fixed: Fixed) -> str:
    """Write what changes as a unified diff; empty when nothing does."""
    return "".join(
        line for path, (old, new) in fixed.files.items() for line in _diff(printable(display_name(path)), old, new)
    )


def _diff(name: str, old: bytes, new: bytes) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(old), _lines(new), fromfile=name, tofile=name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(raw: bytes) -> list[str]:
    return _LINE.findall(raw.decode("utf-8", "replace"))


def write_fixed(fixed: Fixed) -> frozenset[Path]:
    """Write the files that change, each in one move and with the rights it had; returns which were written.

    Which could not be is said on stderr.
    """
    written = set()
    for path, (_, new) in fixed.files.items():
        try:
            mode = path.stat().st_mode
            write_whole(path, new.decode("utf-8"), within=find_root(path))
            path.chmod(mode)
        except OSError as error:
            sys.stderr.write(
                f"tuvl validate: cannot write {printable(display_name(path))!r} ({error.strerror}); it is not mended\n"
            )
        else:
            written.add(path)
    return frozenset(written)


def counted_text(fixed: Fixed, written: frozenset[Path]) -> str:
    """Say how many findings were mended in the files that were written, and how many can be in the others."""
    return "".join(
        _counted([number for path, number in fixed.counts.items() if (path in written) is done], how)
        for done, how in ((True, "mended"), (False, "can be mended"))
    )


def _counted(numbers: Sequence[int], how: str) -> str:
    return f"{count(sum(numbers), 'finding')} {how} in {count(len(numbers), 'file')}\n" if numbers else ""
