"""Compares `extra:` of a language model: settings that are passed to a provider, known by their names alone."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.credentials import names_a_credential
from tuvl.analysis.steps import mapping
from tuvl.changes.differences import compare_cap, compare_location
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Cap, Location
from tuvl.spec.provider_settings import CAPS, STYLES, is_address
from tuvl.spec.reserved_settings import BODY, HEADERS
from tuvl.values import canonical

_MOVED = Location("provider-moved", "credential-changed")


def compare_settings(findings: Findings, old: object, new: object, spot: Spot) -> None:
    """Tell each setting that differs; what one does that nobody here knows may be anything."""
    if not isinstance(old, dict | None) or not isinstance(new, dict | None):
        if canonical(old) != canonical(new):  # type: ignore[arg-type]  # documents hold JSON
            findings.say("setting-unknown", spot.label, spot, old, new)
        return
    before, after = mapping(old), mapping(new)
    for name in dict.fromkeys((*before, *after)):
        if canonical(before.get(name)) != canonical(after.get(name)) or (name in before) != (name in after):
            _compare(findings, name, before, after, spot.at(name))


def _compare(findings: Findings, name: str, before: Mapping[str, Any], after: Mapping[str, Any], spot: Spot) -> None:
    old, new = before.get(name), after.get(name)
    if name == BODY:
        compare_settings(findings, old, new, spot)
    elif is_address(name):
        compare_location(findings, _MOVED, old, new, spot)
    elif name in CAPS:
        compare_cap(findings, Cap(), old, new, spot)
    else:
        code = _code(name, old, new)
        what = (
            f"{spot.label} is {'gone' if name not in after else 'new'}" if (name in before) != (name in after) else ""
        )
        findings.say(code, what or spot.label, spot, old, new, on_old=name not in after, at_key=bool(what))


def _code(name: str, old: object, new: object) -> str:
    if name in STYLES:
        return "model-settings-changed"
    headers = {*mapping(old), *mapping(new)} if name == HEADERS else {name}
    return "credential-changed" if headers and all(map(names_a_credential, headers)) else "setting-unknown"
