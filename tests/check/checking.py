"""Checks files given as text, each call in a project of its own."""

import textwrap
from pathlib import Path

from tuvl.check.finding import Finding, Report
from tuvl.check.runner import check_paths


def check(folder: Path, files: dict[str, str], *, strict: bool = False) -> Report:
    """Write the files into a folder and check all of it as a project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return check_paths([folder], project=folder, strict=strict)


def of(report: Report, code: str) -> list[Finding]:
    """The findings of one check."""
    return [finding for finding in report.findings if finding.code == code]


def messages(report: Report, code: str) -> list[str]:
    """What one check says."""
    return [finding.message for finding in of(report, code)]


def workflow(steps: str, head: str = "") -> dict[str, str]:
    """A project of one workflow with these steps (YAML, at any indentation)."""
    body = textwrap.indent(textwrap.dedent(steps).strip("\n"), "    ")
    above = textwrap.indent(textwrap.dedent(head).strip("\n"), "  ")
    parts = ["kind: Workflow", "metadata: { name: w }", "spec:", *([above] if above else []), "  steps:", body, ""]
    return {"workflows/w.yaml": "\n".join(parts)}
