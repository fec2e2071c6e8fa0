"""Runs one golden case in a copy of its own, the way a user would: from the folder it lies in."""

import os
import shutil
from contextlib import chdir
from pathlib import Path

from tuvl.check.finding import Report
from tuvl.check.one_file import BY_CODE
from tuvl.check.runner import check_paths
from tuvl.check.shipped import ship_findings
from tuvl.cli.render import report_text
from tuvl.project.index import ProjectIndex

CASES = Path(__file__).resolve().parents[1] / "cases"

REGENERATE = bool(os.environ.get("TUVL_REGENERATE_CASES"))
"""Set to write `bad.out` anew; the difference is then read like any other change."""


def path_of(code: str, which: str) -> Path:
    """The file or the project folder of a case: `bad` or `good`."""
    folder = CASES / code / which
    if folder.is_dir():
        return folder
    found = sorted((CASES / code).glob(f"{which}.[ym]*"))
    if len(found) != 1:
        raise FileNotFoundError(f"tests/cases/{code} needs one `{which}.yaml` (or .md), or one folder `{which}`")
    return found[0]


def copy_of(code: str, which: str, tmp: Path) -> Path:
    """Copy a case into a folder, as the file or the project folder that it is, and return the copy."""
    source = path_of(code, which)
    copy = tmp / source.name
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        shutil.copyfile(source, copy)
    return copy


def project_of(code: str, which: str, tmp: Path) -> ProjectIndex:
    """Copy a case into a folder and take it for a project of its own."""
    copy = copy_of(code, which, tmp)
    return ProjectIndex(copy if copy.is_dir() else tmp)


def report(code: str, which: str, tmp: Path) -> Report:
    """Check a case as a project of its own."""
    source = path_of(code, which)
    copy_of(code, which, tmp)
    with chdir(tmp):
        root = Path(source.name) if source.is_dir() else Path()
        found = check_paths([Path(source.name)], project=root)
        return found if BY_CODE[code].phase == "validate" else _with_shipping(found, ProjectIndex(root))


def _with_shipping(found: Report, project: ProjectIndex) -> Report:
    """Add what `tuvl ship` checks beside."""
    findings = ship_findings(project)
    texts = {finding.file: project.text_of(finding.file) or "" for finding in findings}
    return Report.of([*found.findings, *findings], files=found.files, texts={**texts, **found.texts})


def spoken(report: Report, code: str) -> str:
    """What a report says of one check."""
    findings = [finding for finding in report.findings if finding.code == code]
    return report_text(Report.of(findings, files=report.files, texts=report.texts))
