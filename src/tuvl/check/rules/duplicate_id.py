"""TV107 duplicate-id."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.spec.schema_files import KINDS
from tuvl.values import KeyPath

Key = tuple[str, str, str]


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
        if subject.loaded is None or len(subject.loaded.documents) < 2:
            return
        first: dict[Key, Document] = {}
        for document in subject.loaded.documents:
            key = _key(document)
            if key is None:
                continue
            if document is subject.document and key in first:
                yield self._twice(key, first[key], document)
            first.setdefault(key, document)

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Look for keys that repeat over the files of the project."""
        first: dict[Key, Document] = {}
        for document in _documents(project):
            key = _key(document)
            if key is not None and first.setdefault(key, document) is not document:
                yield self._twice(key, first[key], document)

    def _twice(self, key: Key, first: Document, second: Document) -> Finding:
        kind, name, version = key
        place = first.locate(_name_path(first))
        what = f"{kind} {name!r} ({'version ' if kind == 'artifact' else ''}{version})"
        return self.finding(
            second,
            _name_path(second),
            f"{what} is defined twice, first in {first.file}:{place.start.line}",
            hint="rename one, give it another version, or switch it off with `enabled: false`",
        )


def _documents(project: ProjectIndex) -> Iterable[Document]:
    for views in project.artifacts.values():
        yield from (view.document for view in views if view.enabled)
    for kind in KINDS:
        if kind != "Artifact":
            yield from project.documents(kind)


def _name_path(document: Document) -> KeyPath:
    return ("metadata", "name") if document.kind is not None else ("name",)


def _key(document: Document) -> Key | None:
    data = mapping(document.data)
    if data.get("enabled", True) is False:
        return None
    head: Mapping[str, Any] = mapping(data.get("metadata")) if document.kind is not None else data
    name = head.get("name")
    if not isinstance(name, str):
        return None
    if document.kind in (None, "Artifact"):
        return ("artifact", name, str(head.get("version", 1)))
    return (str(document.kind), name, str(head.get("schema_version", "v1")))
