"""How long a step that calls no model may take, in seconds; the engine's own work counts as none."""

import math
from typing import cast

from tuvl.analysis.amount import NOTHING, Amount, exactly, unbounded, unknown
from tuvl.analysis.language_models import positive, whole
from tuvl.analysis.scope import Scope
from tuvl.analysis.steps import StepView, items, mapping
from tuvl.analysis.templates import strings
from tuvl.analysis.text_size import NO_TEXT, template_size
from tuvl.templating.plain import is_template
from tuvl.values import JsonValue, json_size

GRACE_S = 5.0
"""How long what was told to stop may take to do so."""

MAX_ITEMS = 100
HTTP_TIMEOUT_S = 30.0
CONNECT_S = 30.0
"""How long connecting to an MCP server may take."""
LONGEST_WAIT_S = 30.0
"""Longest wait between two attempts of an HTTP call, whatever `Retry-After` says."""


def step_seconds(step: StepView) -> Amount:
    """Seconds of a step of a plain kind, cut off by its `timeout_s`."""
    return cut_off(_own_seconds(step), positive(step.data.get("timeout_s")), "timeout_s")


def cut_off(seconds: Amount, deadline_s: float | None, field: str) -> Amount:
    """No longer than a deadline, and what is in flight then has a few seconds to end."""
    if deadline_s is None:
        return seconds
    return seconds.at_most(exactly(deadline_s + GRACE_S, field))


def tool_seconds(step: StepView, entry_timeout_s: float | None, scope: Scope) -> Amount:
    """Seconds of one call of a step as a tool, waiting for an approval left out."""
    bounds = [bound for bound in (entry_timeout_s, positive(step.data.get("timeout_s"))) if bound is not None]
    deadline_s = min(bounds) if bounds else scope.waits.tool_s
    return cut_off(_own_seconds(step), deadline_s, "timeout_s of tools" if bounds else "TUVL_AGENT_TOOL_TIMEOUT_S")


def helper_seconds(name: object, scope: Scope) -> float:
    """Seconds of one question to a helper of an agent."""
    step = scope.workflow.by_id.get(name) if isinstance(name, str) else None
    if step is None:
        return 0.0
    return (positive(step.data.get("timeout_s")) or scope.waits.tool_s) + GRACE_S


def _own_seconds(step: StepView) -> Amount:
    match step.kind:
        case "Router" | "Response":
            return NOTHING
        case "Functional":
            return _functional(step)
        case "APICall":
            return _api_call(step)
        case "MCP":
            return exactly((positive(step.get("mcp", "timeout")) or HTTP_TIMEOUT_S) + CONNECT_S, "mcp.timeout")
        case "HumanInTheLoop":
            return unbounded("timeout_s")
        case "ModelOp":
            return unbounded("timeout_s")
        case _:
            return unknown(f"how long a step of kind {step.kind!r} takes")


def _functional(step: StepView) -> Amount:
    match step.data.get("runner"):
        case "set" | "log" | "fail":
            return NOTHING
        case "wait":
            seconds = positive(step.data.get("seconds"), zero=True)
            return unbounded("timeout_s") if seconds is None else exactly(seconds, "seconds")
    return unbounded("timeout_s")


def _api_call(step: StepView) -> Amount:
    http = mapping(step.data.get("http"))
    attempts = whole(mapping(http.get("retry")).get("attempts")) or 1
    timeout = positive(http.get("timeout")) or HTTP_TIMEOUT_S
    return exactly(attempts * timeout + (attempts - 1) * LONGEST_WAIT_S, "http.timeout")


def item_count(step: StepView) -> int:
    """Most items of a ForEach."""
    given, most = step.data.get("items"), whole(step.data.get("max_items")) or MAX_ITEMS
    return min(len(given), most) if isinstance(given, list) else most


def item_bytes(step: StepView, context_bytes: int) -> int:
    """Bytes of one item of a ForEach, as JSON: what stands in the file, or what comes of the context."""
    given = step.data.get("items")
    templates = [word for _, word in strings(given, (), "{")]
    if not any(map(is_template, templates)):
        return max((json_size(cast(JsonValue, item)) for item in items(given)), default=0)
    found = NO_TEXT
    for word in templates:
        found += template_size(word)
    return found.length(context_bytes, proof=True)


def rounds(count: float, at_once: int) -> float:
    """How often so many must be begun, when so many run at once."""
    return math.ceil(count / at_once)
