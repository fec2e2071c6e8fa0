"""Compares single values whose differences have a direction: bounds, switches, scales, sets, scopes."""

from typing import Any, assert_never

from tuvl.analysis.steps import items, mapping
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Cap, Gate, Members, Rank, Toggle, Weights
from tuvl.values import canonical

WEIGHTS = ("error", "warning", "note", "ignore")


def compare_directed(
    findings: Findings, policy: Cap | Toggle | Rank | Members | Gate | Weights, old: object, new: object, spot: Spot
) -> None:
    """Compare two values by the policy of their field."""
    match policy:
        case Cap():
            compare_cap(findings, policy, old, new, spot)
        case Toggle():
            compare_toggle(findings, policy, old, new, spot)
        case Rank():
            compare_rank(findings, policy, old, new, spot)
        case Members():
            compare_members(findings, policy, old, new, spot)
        case Gate():
            compare_gate(findings, policy, old, new, spot)
        case Weights():
            compare_weights(findings, old, new, spot)
        case _:
            assert_never(policy)


def compare_cap(findings: Findings, policy: Cap, old: object, new: object, spot: Spot) -> None:
    """Compare two bounds; nothing is no bound."""
    if old is None and new is None:
        return
    if not _is_number(old, or_none=True) or not _is_number(new, or_none=True):
        if _differ(old, new):
            findings.say("field-changed", spot.label, spot, old, new)
    elif new is None:
        findings.say(policy.removed, f"{spot.label} is gone", spot, old, None, on_old=True)
    elif old is None:
        findings.say(policy.lowered, f"{spot.label} is new", spot, None, new)
    elif float(new) > float(old):  # type: ignore[arg-type]  # both are numbers
        findings.say(policy.raised, f"{spot.label} raised", spot, old, new)
    elif float(new) < float(old):  # type: ignore[arg-type]  # both are numbers
        findings.say(policy.lowered, f"{spot.label} lowered", spot, old, new)


def compare_toggle(findings: Findings, policy: Toggle, old: object, new: object, spot: Spot) -> None:
    """Compare two switches."""
    if _differ(old, new):
        code = policy.on if new is True else policy.off if old is True else "field-changed"
        findings.say(code, spot.label, spot, old, new)


def compare_rank(findings: Findings, policy: Rank, old: object, new: object, spot: Spot) -> None:
    """Compare two words of a scale."""
    if not _differ(old, new):
        return
    if old in policy.scale and new in policy.scale:
        looser = policy.scale.index(str(new)) > policy.scale.index(str(old))
        findings.say(policy.looser if looser else policy.stricter, spot.label, spot, old, new)
    else:
        findings.say("field-changed", spot.label, spot, old, new)


def compare_gate(findings: Findings, policy: Gate, old: object, new: object, spot: Spot) -> None:
    """Compare two scopes or groups; another one is asked for by those who had not the old, and none of the old."""
    if not _differ(old, new):
        return
    if new is not None:
        what = f"{spot.label} is asked for" if old is None else f"{spot.label}: another one is asked for"
        findings.say(policy.asked, what, spot, old, new)
    if old is not None:
        what = f"{spot.label} is no longer asked for" if new is None else f"{spot.label}: the old one no longer is"
        findings.say(policy.dropped, what, spot, old, new, on_old=new is None)


def compare_members(findings: Findings, policy: Members, old: object, new: object, spot: Spot) -> None:
    """Compare two lists as sets."""
    before, after = members(old), members(new)
    everything_old, everything_new = _is_all(policy, old), _is_all(policy, new)
    if everything_old and everything_new:
        return
    if everything_old:
        findings.say(policy.removed, f"{spot.label}: only these", spot, None, new)
    elif everything_new:
        findings.say(policy.added, f"{spot.label}: no longer only these", spot, old, None, on_old=new is None)
    else:
        for value in (value for key, value in before.items() if key not in after):
            findings.say(policy.removed, f"{spot.label}: {_called(value)} is gone", spot, old, new)
        for value in (value for key, value in after.items() if key not in before):
            findings.say(policy.added, f"{spot.label}: {_called(value)} is new", spot, old, new)
        if list(before) != list(after) and before.keys() == after.keys():
            findings.say("reordered", f"{spot.label} in another order", spot)
        elif before.keys() == after.keys() and _differ(old, new):
            findings.spelled_otherwise = True


def _is_all(policy: Members, value: object) -> bool:
    return (policy.absent_is_all and value is None) or (policy.empty_is_all and not items(value) and not value)


def members(value: object) -> dict[str, object]:
    """Entries by what they mean: a name, a list of names, or `models:` with names and versions."""
    entries: list[Any] = [value] if isinstance(value, str) else items(value)
    entries = entries or items(mapping(value).get("models"))
    found: dict[str, object] = {}
    for entry in entries:
        table = mapping(entry)
        if set(table) <= {"name", "version"} and isinstance(table.get("name"), str):
            version = table.get("version")
            entry = table["name"] if version is None else f"{table['name']}@{version}"
        found.setdefault(canonical(entry), entry)
    return found


def compare_weights(findings: Findings, old: object, new: object, spot: Spot) -> None:
    """Compare how much checks weigh; one that is not named weighs what it weighs by itself."""
    before, after = mapping(old), mapping(new)
    for code in dict.fromkeys((*before, *after)):
        was, now = before.get(code), after.get(code)
        if not _differ(was, now):
            continue
        below = spot.at(code)
        lower = _weight(now, unnamed=1) > _weight(was, unnamed=1)
        undecided = was is None or now is None
        lowered = lower or (undecided and (now == "ignore" or was == "error"))
        named = "check-lowered" if lowered else "check-raised"
        findings.say(named, f"{below.label}: weight of {code}", below, was, now, on_old=now is None, may=undecided)


def _weight(value: object, *, unnamed: int) -> int:
    return WEIGHTS.index(value) if isinstance(value, str) and value in WEIGHTS else unnamed


def _called(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float) else "an entry"


def _is_number(value: object, *, or_none: bool) -> bool:
    return (or_none and value is None) or (isinstance(value, int | float) and not isinstance(value, bool))


def _differ(old: object, new: object) -> bool:
    return canonical(old) != canonical(new)  # type: ignore[arg-type]  # documents hold JSON
