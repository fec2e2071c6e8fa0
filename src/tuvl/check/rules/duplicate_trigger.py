"""TV212 duplicate-trigger."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.catalogue import Entry
from tuvl.project.index import ProjectIndex


class DuplicateTrigger(Rule):
    """Two enabled workflows answer the same trigger path and method.

    The server can start only one of them for a request; which one would depend on the order of files.
    """

    code = "TV212"
    name = "duplicate-trigger"
    severity = Severity.ERROR

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Compare the triggers of all workflows."""
        first: dict[tuple[str, str], Entry] = {}
        for entry in project.catalogue():
            trigger = entry.trigger if entry.enabled else None
            if trigger is None:
                continue
            method, path = trigger.method, trigger.path
            other = first.setdefault((method, path), entry)
            if other is not entry and other.trigger is not None:
                yield self.finding_at(
                    entry.file,
                    trigger.place,
                    f"workflow {_name(entry)!r} answers {method} {path!r}, and so does {_name(other)!r} "
                    f"({other.file}:{other.trigger.place.start.line})",
                    hint="give one of them another path or method, or set `enabled: false`",
                    path=("spec", "trigger", "path"),
                )


def _name(entry: Entry) -> str:
    return entry.name or "<unnamed>"
