"""What callers get and how they start: the output of a run, and its trigger."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.context import Keys, input_keys, written_keys
from tuvl.analysis.steps import StepView, mapping
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot

_OUTPUT = Spot(("spec", "output"), ("spec", "output"))
_TRIGGER = Spot(("spec", "trigger"), ("spec", "trigger"), "trigger")


def compare_output(findings: Findings, old: WorkflowFacts, new: WorkflowFacts) -> None:
    """Compare what a run puts out: one value, what Response steps map, or the whole context."""
    was, now = old.view.spec.get("output"), new.view.spec.get("output")
    if was != now:
        shown = tuple("the whole context" if value is None else str(value) for value in (was, now))
        findings.say("output-changed", "output", _OUTPUT, shown=(shown[0], shown[1]))
    elif was is None and not _responses(old) and not _responses(new):
        _whole_context(findings, old, new)
    elif isinstance(was, str):
        key = was.split(".")[0]
        if key in _keys(old).known and key not in _keys(new).known:
            findings.say("output-removed", f"nothing writes {key!r} any more", _OUTPUT, may=_keys(new).open)
    if was == now and was is None and bool(_responses(old)) != bool(_responses(new)):
        what = "a Response step sets the output now" if _responses(new) else "no Response step sets the output"
        step = (_responses(new) or _responses(old))[0]
        place = Spot(step.path, step.path, "", step.id)
        findings.say("output-changed", what, place, on_old=not _responses(new))


def _responses(facts: WorkflowFacts) -> list[StepView]:
    return [step for step in facts.view.steps if step.kind == "Response"]


def _whole_context(findings: Findings, old: WorkflowFacts, new: WorkflowFacts) -> None:
    was, now = _keys(old), _keys(new)
    inputs = input_keys(old.view).known
    for key in sorted(was.known - now.known - inputs):
        step = _writer(old, key)
        place = Spot(step.path, step.path, "", step.id)
        what = f"key {key!r} of the output is no longer written"
        findings.say("output-removed", what, place, on_old=True, may=now.open)
    for key in sorted(now.known - was.known - input_keys(new.view).known):
        step = _writer(new, key)
        findings.say("output-added", f"key {key!r} of the output is new", Spot(step.path, step.path, "", step.id))


def _keys(facts: WorkflowFacts) -> Keys:
    keys = input_keys(facts.view)
    keys = Keys(keys.known)
    for name in facts.graph.spine:
        keys |= written_keys(facts.graph.steps[name], facts.view, facts.index)
    return keys


def _writer(facts: WorkflowFacts, key: str) -> StepView:
    steps = [facts.graph.steps[name] for name in facts.graph.spine]
    return next(step for step in steps if key in written_keys(step, facts.view, facts.index).known)


def compare_response(findings: Findings, before: StepView, after: StepView, spot: Spot) -> None:
    """Compare what one Response step puts out."""
    was, now = before.data.get("source"), after.data.get("source")
    if was != now:
        findings.say("output-changed", "source", spot.at("source"), was, now, may=True, on_old=now is None)
    fields, others = mapping(before.data.get("mapping")), mapping(after.data.get("mapping"))
    for name in dict.fromkeys((*fields, *others)):
        below = spot.at("mapping").at(name)
        if name not in others:
            findings.say("output-removed", f"key {name!r} of the output is gone", below, fields[name], on_old=True)
        elif name not in fields:
            findings.say("output-added", f"key {name!r} of the output is new", below, None, others[name])
        elif fields[name] != others[name]:
            findings.say("output-changed", f"key {name!r} of the output", below, fields[name], others[name], may=True)


def compare_trigger(findings: Findings, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Compare path and method on which the server starts a run."""
    before, after = old.get("trigger"), new.get("trigger")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    was, now = before.get("path"), after.get("path")
    below = _TRIGGER.at("path")
    if was is not None and now is None:
        findings.say("trigger-removed", "trigger.path is gone", below, was, on_old=True)
    elif was is None and now is not None:
        findings.say("trigger-added", "trigger.path is new", below, None, now)
    elif was != now:
        findings.say("trigger-changed", "trigger.path", below, was, now)
    methods = (before.get("method", "POST"), after.get("method", "POST"))
    if methods[0] != methods[1]:
        findings.say("trigger-changed", "trigger.method", _TRIGGER.at("method"), *methods)
