"""Tells the differences of two JSON Schemas of a document."""

from tuvl.changes.change import CLASSES, CODES
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.policy import Subschema
from tuvl.changes.schema import Direction, schema_changes
from tuvl.values import canonical

_READ_BY_MODELS = frozenset({"parameters-described", "prompt-changed"})
"""What is told of the words of schemas that are given to a model as they are written."""


def compare_subschema(findings: Findings, policy: Subschema, old: object, new: object, spot: Spot) -> None:
    """Tell where the new schema takes less, more, or nobody can tell; no schema takes everything."""
    changes = schema_changes(True if old is None else old, True if new is None else new)
    if not changes and canonical(old) != canonical(new):  # type: ignore[arg-type]  # documents hold JSON
        if policy.note in _READ_BY_MODELS:
            findings.say(policy.note, f"{spot.label}: the same values, written otherwise", spot, old, new)
        else:
            findings.spelled_otherwise = True
    for change in changes:
        below = Spot((*spot.old_path, *change.old_path), (*spot.new_path, *change.new_path), spot.label, spot.step)
        may = change.may
        match change.direction:
            case Direction.TIGHTER:
                code = policy.tighter
            case Direction.LOOSER:
                code = policy.looser
            case Direction.ADDED:
                code = policy.added
            case Direction.NOTE:
                code = policy.note
            case Direction.UNDECIDED:
                # Which of the two is graver depends on the site; what nobody can tell counts as the graver one.
                code, may = _graver(policy), True
        where = f"{spot.label}: {change.where}" if change.where else spot.label
        on_old = new is None
        findings.say(code, f"{where}: {change.message}", below, change.before, change.after, may=may, on_old=on_old)


def _graver(policy: Subschema) -> str:
    return min((policy.tighter, policy.looser), key=lambda code: CLASSES.index(CODES[code].cls))
