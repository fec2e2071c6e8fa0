"""Findings as JSON Lines: one object a line, for programs that read as they go."""

from tuvl.check.finding import Report
from tuvl.cli.placing import repository_path
from tuvl.cli.render import finding_json
from tuvl.values import dump_json, escaped_json


def report_jsonl(report: Report) -> str:
    """Write one line a finding, in source order; nothing when there is none."""
    return "".join(
        escaped_json(dump_json({**finding_json(finding), "file": repository_path(finding.file)})) + "\n"
        for finding in report.findings
    )
