"""Which parts of the context a model is given, wherever they come in: by name, or by a template of what it is told."""

from collections.abc import Iterator

from tuvl.analysis.called_models import CalledModel, called_models
from tuvl.analysis.judges import guard_checks
from tuvl.analysis.key_reads import key_reads
from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.steps import StepView, text
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.guard_order import SITES
from tuvl.templating.scan import scan
from tuvl.values import KeyPath

Shown = dict[tuple[str, ...], KeyPath]
"""Dotted path → where it stands that a model is given it."""

_GIVES = ("context_injection", "system", "prompt", "steering", "skills")
_BY_NAME = "context_injection"


def compare_shown_keys(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView | None, after: StepView, spot: Spot
) -> None:
    """Tell what the model of an agent, and its judges, are given that they were not; of a new agent all of it."""
    old, new = facts
    was = _of_agent(old, before) if before is not None else {}
    now = _of_agent(new, after)
    for path, place in now.items():
        named = len(place) > len(after.path) + 1 and place[len(after.path) + 1] == _BY_NAME
        # What is named and was named is compared as a list.
        if not (named and before is not None) and not _is_within(path, was):
            findings.say("context-injected", f"{'.'.join(path)!r} is given to a model", _at(spot, place))
    asked = _of_judges(old, before) if before is not None else {}
    for path, place in _of_judges(new, after).items():
        if not _is_within(path, asked):
            findings.say("context-injected", f"{'.'.join(path)!r} is given to a judge", _at(spot, place))
    if before is not None and now:
        for judge in _elsewhere(facts, before, after):
            said = f"a judge at another provider is given what the agent is ({', '.join(map('.'.join, now))})"
            findings.say("context-injected", said, _at(spot, judge.path))


def _at(spot: Spot, place: KeyPath) -> Spot:
    return Spot(spot.old_path, place, spot.label, spot.step)


def _is_within(path: tuple[str, ...], others: Shown) -> bool:
    """Whether a part, or what it is a part of, is among others."""
    return any(path[: length + 1] in others for length in range(len(path)))


def _of_agent(facts: WorkflowFacts, step: StepView) -> Shown:
    found: Shown = {}
    for read in key_reads(step, facts.index):
        inside = read.place[len(step.path) :]
        if inside[:1] == ("agent",) and len(inside) > 1 and inside[1] in _GIVES:
            found.setdefault(read.path, read.place)
    return found


def _of_judges(facts: WorkflowFacts, step: StepView) -> Shown:
    found: Shown = {}
    for site in SITES:
        place = (*step.path, "agent", "guardrails", site)
        for check in guard_checks(step, site, facts.index):
            if check.get("check") == "llm_judge":
                found |= {path: place for path in _criteria(facts, check.get("criteria")) if path not in found}
    return found


def _criteria(facts: WorkflowFacts, written: object) -> tuple[tuple[str, ...], ...]:
    """What criteria read: only an artifact may be a template."""
    reference = text(written) or ""
    artifact = facts.index.resolve(reference) if reference.startswith(ARTIFACT_SCHEME) else None
    if artifact is None or not artifact.template or artifact.body is None:
        return ()
    return scan(artifact.body).paths


def _elsewhere(facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView) -> Iterator[CalledModel]:
    """Judges of the text that an agent is given, at providers that the agent sent nothing to."""
    known = {_provider(facts[0], called) for called in _called(facts[0], before)}
    names = {facts[0].model_names(called.name)[0] for called in _called(facts[0], before)}
    for called in _called(facts[1], after):
        # Of a model that was called before, another provider is told as that.
        is_new = called.site[0] == "input" and facts[1].model_names(called.name)[0] not in names
        if is_new and _provider(facts[1], called) not in known:
            yield called


def _called(facts: WorkflowFacts, step: StepView) -> Iterator[CalledModel]:
    return (called for called in called_models(facts.view, facts.index) if called.step == step.id)


def _provider(facts: WorkflowFacts, called: CalledModel) -> str:
    return facts.model_names(called.name)[-1].partition("/")[0]
