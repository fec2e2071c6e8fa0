"""Small projects for tests."""

from pathlib import Path

from tuvl.check.finding import Finding, Report

WORKFLOW = """\
kind: Workflow
metadata: { name: NAME }
spec:
  steps:
    - id: hello
      kind: Functional
      runner: set
      values: { greeting: Hello }
"""


def workflow(name: str = "greet") -> str:
    """A workflow with nothing to find."""
    return WORKFLOW.replace("NAME", name)


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def said(report: Report) -> list[str]:
    """Place and code of each finding."""
    return [short(finding) for finding in report.findings]


def short(finding: Finding) -> str:
    """`file:line CODE`."""
    return f"{finding.file}:{finding.line} {finding.code}"
