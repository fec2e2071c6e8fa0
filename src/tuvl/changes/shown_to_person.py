"""What a person is shown who decides: the one list of it, and what is on it no more.

Values come in by name (`display_context`) and by the templates of the title and the instruction; labels and choices are
fixed words. The words around the values are no part of it.
"""

from collections.abc import Mapping

from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.steps import StepView
from tuvl.changes.differences import compare_members
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Members
from tuvl.values import KeyPath

_BY_NAME = ("ui", "display_context")


def is_shown(step: StepView, read: KeyRead) -> bool:
    """Whether a person who answers the step sees the value of one of its reads."""
    inside = read.place[len(step.path) :]
    return inside[:1] == ("ui",) and (bool(read.revealed) or inside[:2] == _BY_NAME)


def compare_shown(
    findings: Findings, facts: tuple[WorkflowFacts, WorkflowFacts], before: StepView, after: StepView, spot: Spot
) -> None:
    """Tell of values that a person was shown and is not any more, wherever on the question they stood."""
    was, now = (_shown(each, step) for each, step in zip(facts, (before, after), strict=True))
    gone = {path: place for path, place in was.items() if not _is_within(path, now)}
    named = {path for path, place in gone.items() if place[len(before.path) :][:2] == _BY_NAME}
    policy = Members(
        added="field-changed", removed="approval-weakened" if named else "field-changed", order="field-changed"
    )
    compare_members(findings, policy, before.get(*_BY_NAME), after.get(*_BY_NAME), spot.at("ui").at("display_context"))
    for path, place in gone.items():
        if path not in named:
            said = f"the person is no longer shown {'.'.join(path)!r}"
            findings.say("approval-weakened", said, Spot(place, after.path, "", spot.step), on_old=True)


def _shown(facts: WorkflowFacts, step: StepView) -> Mapping[tuple[str, ...], KeyPath]:
    """Dotted path → where on the question it stands; a name of the list before a part of a text."""
    reads = [read for read in key_reads(step, facts.index) if is_shown(step, read)]
    reads.sort(key=lambda read: read.place[len(step.path) :][:2] != _BY_NAME)
    found: dict[tuple[str, ...], KeyPath] = {}
    for read in reads:
        found.setdefault(read.path, read.place)
    return found


def _is_within(path: tuple[str, ...], others: Mapping[tuple[str, ...], KeyPath]) -> bool:
    """Whether a value, or one that it is a part of, is among others."""
    return any(path[: length + 1] in others for length in range(len(path)))
