"""`tuvl graph`: draws a workflow."""

from typing import Literal, assert_never

from tuvl.analysis.scope import Waits
from tuvl.check.runner import report_on
from tuvl.cli.dot import dot
from tuvl.cli.mermaid import mermaid
from tuvl.cli.output import check_destination, deliver
from tuvl.cli.workflow_file import document_of, locate
from tuvl.dataclass import dataclass
from tuvl.drawing.notes import notes_of
from tuvl.drawing.page import page
from tuvl.drawing.sheet import Sheet, sheet_of
from tuvl.drawing.svg import svg
from tuvl.settings import load_settings
from tuvl.values import printable_lines

GraphFormat = Literal["mermaid", "dot", "svg", "html"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """What the command line says."""

    workflow: str
    format: GraphFormat
    findings: bool = True
    output: str | None = None
    project: str | None = None


def graph(options: GraphOptions) -> int:
    """Draw the workflow that a file or a name means; returns the exit code. Raises `UsageError`."""
    check_destination(options.output)
    located = locate(options.workflow, project=options.project)
    source = document_of(located)
    settings = load_settings()
    sheet = sheet_of(
        source,
        located.project,
        waits=Waits(tool_s=settings.agent_tool_timeout_s, judge_s=settings.agent_judge_timeout_s),
        findings=report_on(source, located.project).findings if options.findings else None,
    )
    return 0 if deliver(_drawn(sheet, options.format), options.output) else 1


def _drawn(sheet: Sheet, form: GraphFormat) -> str:
    match form:
        case "mermaid":
            return printable_lines(mermaid(sheet.picture, notes_of(sheet)))
        case "dot":
            return printable_lines(dot(sheet.picture, notes_of(sheet)))
        case "svg":
            return svg(sheet)
        case "html":
            return page(sheet)
        case _:
            assert_never(form)
