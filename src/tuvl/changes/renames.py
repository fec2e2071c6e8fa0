"""Steps of two states of a workflow, paired: by id, and those that only have another one by what they do."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.changes.item_names import with_item_names
from tuvl.changes.respelling import with_spelling
from tuvl.dataclass import dataclass
from tuvl.values import canonical

ALIKE = 0.6
"""Part of the values of two steps that must be the same for one to count as the other, renamed."""
MOST = 60
"""Steps without a partner past which only those with the very same content are paired."""

_HELPERS = ("trim", "tool_surface", "continue_on_stop", "conversation")


@dataclass(frozen=True, slots=True)
class StepPairs:
    """What became of the steps; `old` has the ids, references and spelling of `new` where these mean the same."""

    old: WorkflowView
    new: WorkflowView
    matched: tuple[tuple[StepView, StepView], ...]
    added: tuple[StepView, ...]
    removed: tuple[StepView, ...]
    renames: Mapping[str, str] = field(default_factory=dict)
    """Old id → new id."""
    alike: frozenset[str] = frozenset()
    """New ids of renamed steps that are the same in all else."""
    respelled: bool = False
    """Whether templates that say the same in other words were taken as the new state writes them."""


def pair_steps(old: WorkflowView, new: WorkflowView) -> StepPairs:
    """Pair the steps of a workflow."""
    gone = [step for name, step in old.by_id.items() if name not in new.by_id]
    come = [step for name, step in new.by_id.items() if name not in old.by_id]
    renames, alike = _renames(gone, come) if gone and come else ({}, frozenset[str]())
    named = WorkflowView(with_renames(old.data, renames)) if renames else old
    before = with_spelling(with_item_names(named, new), new)
    return StepPairs(
        old=before,
        new=new,
        matched=tuple((before.by_id[name], step) for name, step in new.by_id.items() if name in before.by_id),
        added=tuple(step for name, step in new.by_id.items() if name not in before.by_id),
        removed=tuple(step for name, step in before.by_id.items() if name not in new.by_id),
        renames=renames,
        alike=alike,
        respelled=before is not named,
    )


def _renames(gone: list[StepView], come: list[StepView]) -> tuple[dict[str, str], frozenset[str]]:
    renames: dict[str, str] = {}
    alike: set[str] = set()
    by_content: dict[str, list[StepView]] = {}
    for step in come:
        by_content.setdefault(_content(step), []).append(step)
    for step in gone:
        twins = by_content.get(_content(step))
        if twins:
            twin = twins.pop(0)
            renames[step.id] = twin.id
            alike.add(twin.id)
    left = [step for step in gone if step.id not in renames]
    others = [step for step in come if step.id not in alike]
    if len(left) <= MOST and len(others) <= MOST:
        renames |= _nearest(left, others)
    return renames, frozenset(alike)


def _nearest(gone: list[StepView], come: list[StepView]) -> dict[str, str]:
    scores = []
    leaves = {step.id: _leaves(step) for step in (*gone, *come)}
    for one in gone:
        for other in come:
            if one.kind == other.kind and one.mode == other.mode:
                together = len(leaves[one.id] | leaves[other.id]) or 1
                score = len(leaves[one.id] & leaves[other.id]) / together
                if score >= ALIKE:
                    scores.append((-score, one.index, other.index, one.id, other.id))
    found: dict[str, str] = {}
    for _, _, _, old, new in sorted(scores):
        if old not in found and new not in found.values():
            found[old] = new
    return found


def _content(step: StepView) -> str:
    return canonical({key: value for key, value in step.data.items() if key not in ("id", "description")})


def _leaves(step: StepView) -> frozenset[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    waiting: list[tuple[str, object]] = [(key, value) for key, value in step.data.items() if key != "id"]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting.extend((f"{where}.{key}", each) for key, each in value.items())
        elif isinstance(value, list) and value:
            waiting.extend((where, each) for each in value)
        else:
            found.add((where, canonical(value)))  # type: ignore[arg-type]  # documents hold JSON
    return frozenset(found)


def with_renames(data: Mapping[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    """Return a workflow's data with other step ids, wherever a step is named; every path leads where it led."""
    spec = dict(mapping(data.get("spec")))
    spec["steps"] = [
        _step(step, renames) if isinstance(step, dict) else step
        for step in items(mapping(data.get("spec")).get("steps"))
    ]
    supervisor = spec.get("supervisor")
    if isinstance(supervisor, dict):
        spec["supervisor"] = _supervisor(supervisor, renames)
    return {**data, "spec": spec}


def _step(step: dict[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    found = _with(step, ("id", "step"), renames)
    if isinstance(step.get("routes"), dict):
        found["routes"] = {signal: _name(target, renames) for signal, target in step["routes"].items()}
    agent = step.get("agent")
    if step.get("kind") == "Agent" and isinstance(agent, dict):
        found["agent"] = _agent(agent, renames)
    return found


def _agent(agent: dict[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    found = _with(agent, _HELPERS, renames)
    if isinstance(agent.get("tools"), list):
        found["tools"] = [
            _with(entry, ("ref",), renames) if isinstance(entry, dict) else entry for entry in agent["tools"]
        ]
    if isinstance(agent.get("reserve"), dict):
        found["reserve"] = {key: _name(value, renames) for key, value in agent["reserve"].items()}
    compaction = agent.get("compaction")
    if isinstance(compaction, dict) and isinstance(compaction.get("preserve"), list):
        found["compaction"] = {**compaction, "preserve": [_name(name, renames) for name in compaction["preserve"]]}
    return found


def _supervisor(supervisor: dict[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    found = dict(supervisor)
    if isinstance(supervisor.get("watches"), list):
        found["watches"] = [_name(name, renames) for name in supervisor["watches"]]
    if isinstance(supervisor.get("rules"), list):
        found["rules"] = [
            _with(rule, ("tool",), renames) if isinstance(rule, dict) else rule for rule in supervisor["rules"]
        ]
    return found


def _with(block: dict[str, Any], fields: tuple[str, ...], renames: Mapping[str, str]) -> dict[str, Any]:
    return {key: _name(value, renames) if key in fields else value for key, value in block.items()}


def _name(value: Any, renames: Mapping[str, str]) -> Any:
    return renames.get(value, value) if isinstance(value, str) else value
