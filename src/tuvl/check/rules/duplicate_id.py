"""TV107 duplicate-id."""

from collections.abc import Iterator
from dataclasses import replace

from tuvl.analysis.steps import WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.project.catalogue import Entry, Key
from tuvl.project.index import ProjectIndex
from tuvl.project.twins import said_twice, twins
from tuvl.source.document import Document
from tuvl.values import KeyPath


class DuplicateId(Rule):
    """Two steps of a workflow have one id, or two enabled documents have one kind, name and version.

    Whoever refers to the name means one of them, and which one would depend on the order of files. Documents are
    told apart by kind, `metadata.name` and `metadata.schema_version`, artifacts by name and version.
    """

    code = "TV107"
    name = "duplicate-id"
    severity = Severity.ERROR

    def visit_workflow(self, workflow: WorkflowView, subject: Subject) -> Iterator[Finding]:
        """Look for step ids that repeat."""
        first: dict[str, KeyPath] = {}
        for step in workflow.steps:
            step_id = step.data.get("id")
            if not isinstance(step_id, str):
                continue
            path = (*step.path, "id")
            if step_id in first:
                line = subject.document.locate(first[step_id]).start.line
                message = f"step id {step_id!r} is used twice, first in line {line}"
                yield self.finding(subject, path, message, hint="give one of the two steps another id")
            else:
                first[step_id] = path

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look for an earlier document of the same file with the same key."""
        loaded, document = subject.loaded, subject.document
        if loaded is None or len(loaded.documents) < 2:
            return
        for entry in subject.project.entries(loaded.path)[document.index : document.index + 1]:
            if entry.key is not None and entry.first is not None:
                yield self._twice(entry, replace(entry, place=entry.first))

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Look for keys that repeat over the files of the project."""
        first: dict[Key, Entry] = {}
        for entry in project.catalogue():
            if entry.key is not None and (earlier := first.setdefault(entry.key, entry)) is not entry:
                yield self._twice(entry, earlier)

    def of_document(self, document: Document, project: ProjectIndex) -> Iterator[Finding]:
        """Look for documents with the key of one that is used, where the project as a whole is not looked at."""
        entries = twins(document, project)
        yield from (self._twice(entry, entries[0]) for entry in entries[1:])

    def _twice(self, entry: Entry, first: Entry) -> Finding:
        return self.finding_at(
            entry.file,
            entry.place,
            said_twice(entry, first),
            hint="rename one, give it another version, or switch it off with `enabled: false`",
            path=entry.path,
        )
