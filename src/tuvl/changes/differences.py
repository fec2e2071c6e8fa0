"""Compares single values whose differences have a direction: bounds, switches, scales, sets, scopes."""

import re
from typing import Any, TypeAlias, assert_never

from tuvl.analysis.steps import items, mapping
from tuvl.changes.change import CLASSES, CODES
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Cap, Gate, Location, Members, Narrowing, Rank, Statuses, Toggle, Weights
from tuvl.values import canonical

Directed: TypeAlias = Cap | Toggle | Rank | Members | Statuses | Narrowing | Location | Gate | Weights

WEIGHTS = ("error", "warning", "note", "ignore")


def compare_directed(findings: Findings, policy: Directed, old: object, new: object, spot: Spot) -> None:
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
        case Statuses():
            compare_statuses(findings, policy, old, new, spot)
        case Narrowing():
            compare_narrowing(findings, policy, old, new, spot)
        case Location():
            compare_location(findings, policy, old, new, spot)
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
    elif new > old:  # type: ignore[operator]  # both are numbers
        findings.say(policy.raised, f"{spot.label} raised", spot, old, new)
    elif new < old:  # type: ignore[operator]  # both are numbers
        findings.say(policy.lowered, f"{spot.label} lowered", spot, old, new)


def compare_toggle(findings: Findings, policy: Toggle, old: object, new: object, spot: Spot) -> None:
    """Compare two switches."""
    if _differ(old, new):
        code = policy.on if new is True else policy.off if old is True or new is False else "field-changed"
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


def compare_statuses(findings: Findings, policy: Statuses, old: object, new: object, spot: Spot) -> None:
    """Compare two lists of statuses by what they let through, however it is written."""
    before, after = _statuses(old), _statuses(new)
    if before is None or after is None:
        if _differ(old, new):
            findings.say(policy.added, f"{spot.label}: not read", spot, old, new, may=True)
        return
    if after - before:
        findings.say(policy.added, f"{spot.label}: {_ranges(after - before)} accepted", spot, old, new)
    if before - after:
        findings.say(policy.removed, f"{spot.label}: {_ranges(before - after)} refused", spot, old, new)
    if before == after and _differ(old, new):
        findings.spelled_otherwise = True


def _statuses(value: object) -> frozenset[int] | None:
    found: set[int] = set()
    for entry in value if isinstance(value, list) else [value]:
        text = str(entry)
        if not re.fullmatch("[1-5](xx|[0-9]{2})", text):
            return None
        found.update(range(int(text[0]) * 100, int(text[0]) * 100 + 100) if text.endswith("xx") else (int(text),))
    return frozenset(found)


def _ranges(statuses: frozenset[int]) -> str:
    whole = [first for first in range(100, 600, 100) if statuses.issuperset(range(first, first + 100))]
    rest = sorted(each for each in statuses if each - each % 100 not in whole)
    shown = [f"{first // 100}xx" for first in whole] + [str(each) for each in rest[:5]]
    return ", ".join(shown) + (" …" if len(rest) > 5 else "")


def compare_narrowing(findings: Findings, policy: Narrowing, old: object, new: object, spot: Spot) -> None:
    """Compare what keeps something back; of another one nobody can tell how much."""
    if not _differ(old, new):
        return
    if new is None:
        findings.say(policy.wider, f"{spot.label} is gone", spot, old, None, on_old=True)
    elif old is None:
        findings.say(policy.narrower, f"{spot.label} is new", spot, None, new)
    else:
        findings.say(policy.wider, f"{spot.label}: another one", spot, old, new, may=True)


def compare_location(findings: Findings, policy: Location, old: object, new: object, spot: Spot) -> None:
    """Compare two places, and apart from them the credentials that are written into them."""
    if not _differ(old, new):
        return
    before, after = _place_and_user(old), _place_and_user(new)
    if before is None or after is None or before[0] != after[0]:
        findings.say(policy.code, spot.label, spot, old, new, on_old=new is None)
    if before is not None and after is not None and before[1] != after[1]:
        findings.say(policy.credential, f"{spot.label}: who calls", spot, old, new)


_USER = re.compile(r"^([a-z][a-z0-9+.-]*://)([^/?#@]*)@", re.IGNORECASE)


def _place_and_user(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return None
    found = _USER.match(value)
    return (value, "") if found is None else (found[1] + value[found.end() :], found[2])


def compare_members(findings: Findings, policy: Members, old: object, new: object, spot: Spot) -> None:
    """Compare two lists as sets."""
    before, after = members(old), members(new)
    everything_old, everything_new = _is_all(policy, old), _is_all(policy, new)
    if everything_old and everything_new:
        return
    if policy.absent_is_other and (old is None) != (new is None):
        graver = min((policy.added, policy.removed), key=lambda code: CLASSES.index(CODES[code].cls))
        what = "those that stand elsewhere" if new is None else "these in place of those that stand elsewhere"
        findings.say(graver, f"{spot.label}: {what}", spot, old, new, on_old=new is None, may=True)
    elif everything_old:
        findings.say(policy.removed, f"{spot.label}: only these", spot, None, new)
    elif everything_new:
        findings.say(policy.added, f"{spot.label}: no longer only these", spot, old, None, on_old=new is None)
    else:
        for value in (value for key, value in before.items() if key not in after):
            findings.say(policy.removed, f"{spot.label}: {_called(value)} is gone", spot, old, new)
        for value in (value for key, value in after.items() if key not in before):
            findings.say(policy.added, f"{spot.label}: {_called(value)} is new", spot, old, new)
        if list(before) != list(after) and before.keys() == after.keys():
            findings.say(policy.order, f"{spot.label} in another order", spot, old, new)
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
        named = weight_change(was, now)
        if named is not None:
            below = spot.at(code)
            may = was is None or now is None
            findings.say(named, f"{below.label}: weight of {code}", below, was, now, on_old=now is None, may=may)


def weight_change(was: object, now: object) -> str | None:
    """What it means that a check weighs something else; one that is not named may weigh an error, or a note."""
    if not _differ(was, now):
        return None
    strictest, loosest = 0, WEIGHTS.index("note")
    lower = _weight(now, unnamed=loosest) > _weight(was, unnamed=strictest)
    return "check-lowered" if lower else "check-raised"


def _weight(value: object, *, unnamed: int) -> int:
    return WEIGHTS.index(value) if isinstance(value, str) and value in WEIGHTS else unnamed


def _called(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float) else "an entry"


def _is_number(value: object, *, or_none: bool) -> bool:
    return (or_none and value is None) or (isinstance(value, int | float) and not isinstance(value, bool))


def _differ(old: object, new: object) -> bool:
    return canonical(old) != canonical(new)  # type: ignore[arg-type]  # documents hold JSON
