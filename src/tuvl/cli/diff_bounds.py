"""The worst case of each workflow that changed, before and after."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.envelope import envelope
from tuvl.analysis.scope import Waits
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.changes.change import ChangeClass
from tuvl.changes.compare import Comparison
from tuvl.changes.site import Doc
from tuvl.cli.bounds_document import FIGURES, bounds_document
from tuvl.settings import load_settings
from tuvl.values import JsonObject, JsonValue

MOST = 25
"""Workflows whose worst case is reckoned."""

WAYS = ("proved", "expected")


def worst_cases(found: Comparison) -> list[JsonValue]:
    """Return the figures of each workflow that is there before and after, and that more than its looks changed of."""
    concerned = {
        name
        for change, names in zip(found.changes, found.used_by, strict=True)
        if change.cls is not ChangeClass.COSMETIC
        for name in names
    }
    pairs = [pair for pair in found.workflows if pair.name in concerned and pair.counts]
    cases: list[JsonValue] = []
    for pair in pairs[:MOST]:
        if pair.old is not None and pair.new is not None:
            before, after = _figures(pair.old), _figures(pair.new)
            cases.append({"workflow": pair.name, "before": before, "after": after, "differs": before != after})
    return cases


def _figures(doc: Doc) -> JsonObject:
    settings = load_settings()
    waits = Waits(tool_s=settings.agent_tool_timeout_s, judge_s=settings.agent_judge_timeout_s)
    worst = envelope(WorkflowView(mapping(doc.document.data)), doc.side.index, waits=waits)
    document = bounds_document(worst, (), file=doc.file, assumptions=())
    return {way: _plain(mapping(document[way])) for way in WAYS}


def _plain(figures: Mapping[str, Any]) -> JsonObject:
    return {
        name: {"state": mapping(figures[name])["state"], "value": mapping(figures[name])["value"]} for name in FIGURES
    }
