"""`tuvl graph`: draws a workflow."""

import sys
from typing import Literal, assert_never

from tuvl.analysis.picture import picture_of
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.cli.dot import dot
from tuvl.cli.mermaid import mermaid
from tuvl.cli.output import check_destination, deliver
from tuvl.cli.workflow_file import locate
from tuvl.values import printable_lines

GraphFormat = Literal["mermaid", "dot"]


def graph(workflow: str, *, format: GraphFormat, output: str | None, project: str | None) -> int:
    """Draw the workflow that a file or a name means; returns the exit code."""
    check_destination(output)
    located = locate(workflow, project=project)
    if located.document is None:
        sys.stderr.write(
            f"tuvl: {str(located.file)!r} cannot be read as YAML; `tuvl validate {located.file}` says why\n"
        )
        return 1
    picture = picture_of(WorkflowView(mapping(located.document.data)), located.project)
    match format:
        case "mermaid":
            text = mermaid(picture)
        case "dot":
            text = dot(picture)
        case _:
            assert_never(format)
    return 0 if deliver(printable_lines(text), output) else 1
