"""A comparison as one JSON document; text and markdown are made from it, so that all three agree."""

from collections.abc import Sequence

from tuvl.changes.change import CLASSES, GRAVE, Change
from tuvl.changes.compare import Comparison
from tuvl.cli.diff_unread import Unread
from tuvl.values import JsonObject, JsonValue


def diff_document(
    found: Comparison, worst: list[JsonValue], unread: Sequence[Unread], *, old: str, new: str
) -> JsonObject:
    """Return the document."""
    counts = {cls: sum(change.cls is cls for change in found.changes) for cls in CLASSES}
    return {
        "old": old,
        "new": new,
        "changes": [_of(change, names) for change, names in zip(found.changes, found.used_by, strict=True)],
        "bounds": worst,
        "unread": [
            {"file": each.file, "side": "old" if each.old_side else "new", "differs": each.differs, "message": each.why}
            for each in unread
        ],
        "summary": {
            "changes": len(found.changes),
            **{cls.value.replace(" ", "_"): count for cls, count in counts.items()},
            "workflows": len(found.workflows),
        },
        "passed": not any(counts[cls] for cls in GRAVE) and not any(each.differs for each in unread),
    }


def _of(change: Change, names: tuple[str, ...]) -> JsonObject:
    return {
        "class": change.cls.value,
        "code": change.code,
        "message": change.message,
        "before": change.before,
        "after": change.after,
        "certain": not change.may,
        "file": change.file,
        "line": change.line,
        "column": change.column,
        "side": "old" if change.old_side else "new",
        "path": change.path,
        "step": change.step,
        "workflow": change.workflow,
        "workflows": list(names),
    }
