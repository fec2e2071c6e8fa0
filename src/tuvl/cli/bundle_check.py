"""`tuvl validate` on a bundle: every byte is checked, and then the documents, under the names they have inside."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tuvl.check.finding import Finding, Report
from tuvl.cli.bundle_file import laid_out
from tuvl.errors import UsageError
from tuvl.project.loading import display_name
from tuvl.shipping.mark import is_bundle


def check_bundle(paths: Sequence[Path], check: Callable[[Path], Report]) -> Report:
    """Check the bundle among paths, which must be the only one of them; `check` gets the folder it is laid out in.

    Raises `BundleError` for a bundle that was altered.
    """
    path = next(path for path in paths if is_bundle(path))
    if len(paths) > 1:
        raise UsageError(f"{str(path)!r} is a bundle; check it alone")
    with laid_out(path) as found:
        report = check(found.folder)
        return _renamed(report, display_name(found.folder), display_name(path))


def _renamed(report: Report, folder: str, bundle: str) -> Report:
    """Call the files of the folder by the bundle they are of: the folder is gone when the report is read."""

    def renamed(text: str) -> str:
        return text.replace(folder + os.sep, f"{bundle}/").replace(folder, bundle)

    def finding(one: Finding) -> Finding:
        hint = None if one.hint is None else renamed(one.hint)
        return replace(one, file=renamed(one.file), message=renamed(one.message), hint=hint)

    return replace(
        report,
        findings=tuple(map(finding, report.findings)),
        texts={renamed(file): text for file, text in report.texts.items()},
        checked=tuple(map(renamed, report.checked)),
        unreadable=tuple(map(renamed, report.unreadable)),
    )
