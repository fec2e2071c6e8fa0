"""TV803 lock-drift."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tuvl.analysis.steps import mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.shipment import Shipment, ShipRule
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import YAML_SUFFIXES, absolute, is_prose
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document
from tuvl.source.place import Range

if TYPE_CHECKING:
    from tuvl.locking.drift import Drift

_AGAIN = "read what has changed (`tuvl lock --check`), and lock it with `tuvl lock`"


class LockDrift(ShipRule):
    """What is shipped is not what `tuvl.lock` holds: a document has changed since, or there is no lock to trust.

    The lock is what was reviewed and tested. A prompt, a preset or a node that changed after that leaves the house
    without anyone having looked at it. A lock that was damaged or changed by hand is an error.
    """

    code = "TV803"
    name = "lock-drift"
    severity = Severity.WARNING

    def visit_shipment(self, shipment: Shipment) -> Iterator[Finding]:
        """Compare the project with its lock."""
        from tuvl.locking.drift import drift  # see `Shipment.of`
        from tuvl.locking.lock import LOCK_NAME, Section

        project = shipment.project
        file = project.relative(project.root / LOCK_NAME)
        if shipment.lock_problem is not None:
            yield self.finding_at(
                file,
                Range.at(1, 1),
                shipment.lock_problem,
                hint=f"do not mend {LOCK_NAME} by hand",
                severity=Severity.ERROR,
            )
        elif shipment.lock is None:
            message = f"the project has no {LOCK_NAME}, so nothing says what was reviewed and tested"
            yield self.finding_at(file, Range.at(1, 1), message, hint="`tuvl lock` writes it; keep it with the project")
        else:
            for found in drift(project, shipment.lock):
                # What is missing or new among tools is told where the tool is called.
                if found.section is not Section.TOOLS:
                    yield self._finding(found, project)

    def _finding(self, found: "Drift", project: ProjectIndex) -> Finding:
        file = absolute(Path(found.file))
        loaded = project.load(file) if file.suffix.lower() in YAML_SUFFIXES or is_prose(file) else None
        document = _document(loaded, found)
        message = f"{found.words}; that is not what was locked"
        if loaded is not None and loaded.prose is not None and found.line is not None:
            line = loaded.prose.body_line + found.line - 1
            return self.finding_at(found.file, Range.at(line, 1), message, hint=_AGAIN)
        if document is None:
            return self.finding_at(found.file, Range.at(1, 1), message, hint=_AGAIN)
        path = found.path or (("kind",) if loaded is not None and loaded.prose is None else ())
        return self.finding(document, path, message, hint=_AGAIN)


def _document(loaded: LoadedFile | None, found: "Drift") -> Document | None:
    """Return the document of a file that a drift is about."""
    documents = loaded.documents if loaded is not None else ()
    for document in documents:
        head = mapping(mapping(document.data).get("metadata"))
        if len(documents) > 1 and head.get("name") != found.name.partition("@")[0].partition(" ")[0]:
            continue
        return document
    return documents[0] if documents else None
