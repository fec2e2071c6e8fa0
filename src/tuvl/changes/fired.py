"""What runs a step beside routes and tools: hooks, lists and helpers of agents, where what they run writes."""

from collections.abc import Iterator

from tuvl.analysis.references import StepReference
from tuvl.changes.deeds import deeds_of
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.renames import StepPairs


def compare_fired(findings: Findings, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts]) -> None:
    """Tell of steps that write and are run now by what did not run them; a step that is new is told as that."""
    old, new = facts
    before = {_key(reference) for reference in _fired(old)}
    introduced = {step.id for step in pairs.added if new.acts(step)}
    for reference in _fired(new):
        key = _key(reference)
        target = new.view.by_id.get(reference.target)
        if key in before or target is None or target.id in introduced:
            continue
        deeds = deeds_of(new, target)
        if deeds:
            before.add(key)
            spot = Spot(reference.path, reference.path, "", reference.owner if key[0] else None)
            may = not any(deed.sure for deed in deeds.values())
            what = f"step {target.id!r} writes, and is run as {reference.role} now"
            findings.say("write-added", what, spot, may=may)


def _fired(facts: WorkflowFacts) -> Iterator[StepReference]:
    return (reference for reference in facts.graph.references if reference.role != "tool")


def _key(reference: StepReference) -> tuple[str, str, str]:
    """What tells two of them apart; a hook of the whole workflow belongs to no step."""
    owner = "" if reference.path[:2] == ("spec", "hooks") else reference.owner
    return (owner, reference.role, reference.target)
