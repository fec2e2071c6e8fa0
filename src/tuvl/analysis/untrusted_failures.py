"""Where a step that fails says so in somebody else's words: what it leaves in `_last_error` and its detail."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.inside import run_by_routes
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.signals import PARSE_ERROR, outcomes
from tuvl.analysis.spill import SourceKind, Spill
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.untrusted_sources import shown_reads
from tuvl.spec.signals import ERROR

QUOTING = frozenset({ERROR, PARSE_ERROR})
"""Failures that may be told in words from outside; all others are told in those of the engine."""

_MESSAGE, _DETAIL = "_last_error", "_last_error_detail"

_OWN_PARTS: Mapping[str, Any] = {
    "properties": {
        "status": {"type": "integer"},
        "item": {"type": "integer"},
        "effect": {"const": "unknown"},
        "allowed": {"type": "array", "items": {"const": "an outcome that the file declares"}},
    }
}
"""Parts of a detail that the engine writes itself."""


def failure_spills(
    step: StepView, reads: tuple[KeyRead, ...], workflow: WorkflowView, project: Surroundings
) -> Iterator[Spill]:
    """Keys that may hold untrusted text once the step has failed."""
    if step.kind == "Agent":
        if _may_refuse_its_answer(step):
            yield from _told("answer")
    elif step.kind == "Functional":
        if step.data.get("runner") == "fail":
            yield Spill(_MESSAGE, "copy", shown_reads(reads), when="failed")
    elif _quotes(step, workflow, project):
        yield from _told("reply")


def _told(kind: SourceKind) -> Iterator[Spill]:
    """The message of a failure, which quotes the text, and the detail, which holds it."""
    yield Spill(_MESSAGE, kind, when="failed")
    yield Spill(_DETAIL, kind, schema=_OWN_PARTS, when="failed")


def _may_refuse_its_answer(step: StepView) -> bool:
    """Whether an answer can be outside of what the agent declares, so that the failure quotes it."""
    outcome = mapping(step.agent.get("outcome"))
    return bool(outcomes(step) or outcome.get("schema")) or (
        step.mode == "completion" and outcome.get("format") == "json"
    )


def _quotes(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a step fails with the reply of an API or an MCP server: its own, or one of what it runs."""
    waiting = [(step, workflow)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        current, view = waiting.pop()
        if (view.name, current.id) in seen:
            continue
        seen.add((view.name, current.id))
        match current.kind:
            case "APICall" | "MCP":
                return True
            case "ForEach":
                body = view.by_id.get(text(current.data.get("step")) or "")
                waiting += [(body, view)] if body is not None else []
            case "Workflow":
                name = text(current.data.get("workflow"))
                document = project.workflow(name) if name else None
                inner = WorkflowView(mapping(document.data)) if document is not None else None
                # A failure that a route catches is not that of the workflow.
                unrouted = (each for each in run_by_routes(inner) if ERROR not in each.routes) if inner else ()
                waiting += [(each, inner) for each in unrouted if inner is not None]
    return False
