"""`tuvl bounds`: the worst case of a workflow, and gates on it. Nothing is run, and nothing is called."""

import sys
from typing import Literal, assert_never

from tuvl.analysis.assumptions import assumptions
from tuvl.analysis.envelope import envelope
from tuvl.analysis.graph import route_graph
from tuvl.analysis.scope import Waits
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.depended import twice_defined
from tuvl.cli.bounds_document import bounds_document, failed_gates, gates_of
from tuvl.cli.bounds_text import bounds_markdown, bounds_text, gate_line
from tuvl.cli.flags import limit_of
from tuvl.cli.output import check_destination, deliver, json_document
from tuvl.cli.workflow_file import document_of, locate
from tuvl.dataclass import dataclass
from tuvl.settings import load_settings
from tuvl.values import printable

BoundsFormat = Literal["text", "json", "markdown"]

FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsOptions:
    """What the command line says."""

    workflow: str
    format: BoundsFormat
    max_cost_usd: str | None = None
    max_tokens: str | None = None
    max_seconds: str | None = None
    output: str | None = None
    project: str | None = None


def bounds(options: BoundsOptions) -> int:
    """Print the worst case; returns 1 when a gate is not shown to hold. Raises `UsageError`."""
    limits = {
        "max_cost_usd": limit_of("--max-cost-usd", options.max_cost_usd),
        "max_tokens": limit_of("--max-tokens", options.max_tokens, whole=True),
        "max_seconds": limit_of("--max-seconds", options.max_seconds),
    }
    check_destination(options.output)
    located = locate(options.workflow, project=options.project)
    source = document_of(located)
    workflow, project = WorkflowView(mapping(source.data)), located.project
    loaded = project.file_of(source)
    for finding in twice_defined(loaded, project) if loaded is not None else ():
        sys.stderr.write(f"tuvl: {printable(f'{finding.file}: {finding.message}; {finding.hint}')}\n")
        return FAILED
    settings = load_settings()
    waits = Waits(tool_s=settings.agent_tool_timeout_s, judge_s=settings.agent_judge_timeout_s)
    graph = route_graph(workflow, project)
    found = envelope(workflow, project, graph=graph, waits=waits)
    gates = gates_of(found, limits)
    document = bounds_document(
        found, gates, file=source.file, assumptions=assumptions(workflow, project, graph, waits=waits)
    )
    match options.format:
        case "text":
            text = bounds_text(document)
        case "json":
            text = json_document(document)
        case "markdown":
            text = bounds_markdown(document)
        case _:
            assert_never(options.format)
    delivered = deliver(text, options.output)
    for gate in failed_gates(gates):
        sys.stderr.write(f"tuvl: {gate_line(gate.document)}\n")
    return FAILED if failed_gates(gates) or not delivered else 0
