"""Checks one file: its text, the shape of its documents, and every rule."""

from collections.abc import Iterator

from tuvl.analysis.steps import mapping
from tuvl.artifacts.reference import MAX_BYTES
from tuvl.check.belonging import is_ours, why_not_ours
from tuvl.check.dispatch import EVERYTHING, FORM_ONLY
from tuvl.check.finding import Finding, Severity
from tuvl.check.reported import ShapeRule, SourceRule
from tuvl.check.rule import Rule, Subject
from tuvl.check.rules import ALL_RULES
from tuvl.dataclass import dataclass
from tuvl.project.hiding import FOREIGN, is_foreign_text
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.document import Document, Suppression
from tuvl.source.place import Range
from tuvl.spec.schema_files import KINDS, PROSE
from tuvl.spec.shape import ShapeProblem, shape_problems
from tuvl.values import format_path

BY_CODE: dict[str, Rule] = {rule.code: rule for rule in ALL_RULES}
"""The rules by code."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file gave, small enough to be sent between processes."""

    file: str
    findings: tuple[Finding, ...]
    counts: bool
    """Whether the file holds anything of ours."""
    suppressions: tuple[Suppression, ...] = ()
    text: str = ""
    """The text, when there are suppressions."""


def check_file(loaded: LoadedFile, project: ProjectIndex, *, named: bool) -> FileResult:
    """Check one file; one that is not ours is passed over, unless it was `named`."""
    ours = _our_documents(loaded, named=named)
    if not ours:
        findings = tuple(_without_documents(loaded, named=named))
        return FileResult(loaded.file, findings, counts=bool(findings))
    findings = (*_findings(loaded, ours, project), *(_passed_over(loaded, ours) if named else ()))
    text = loaded.text if loaded.suppressions else ""
    return FileResult(loaded.file, findings, True, loaded.suppressions, text)


def _our_documents(loaded: LoadedFile, *, named: bool) -> tuple[Document, ...]:
    if loaded.prose is not None:
        return loaded.documents
    if not any(is_ours(document, named=named) for document in loaded.documents):
        return ()
    # In a file of ours a document without a kind of ours is a mistake; one of another tool is not.
    return tuple(document for document in loaded.documents if FOREIGN not in mapping(document.data))


def _without_documents(loaded: LoadedFile, *, named: bool) -> Iterator[Finding]:
    if named and loaded.path.suffix.lower() == ".py":
        message = f"{loaded.file!r} is Python, not a document"
        hint = "nodes are read, not run, when a workflow that uses them or the project is checked"
        yield BY_CODE["TV009"].finding_at(loaded.file, Range.at(1, 1), message, hint=hint)
    elif not loaded.documents and loaded.problems:
        if named or not is_foreign_text(loaded):
            yield from _source_findings(loaded)
    elif named:
        # It is checked all the same: what is unsafe in a file of another tool is unsafe.
        yield from _source_findings(loaded)
        rule = BY_CODE["TV009"]
        hint = "a document begins with `kind:`, e.g. `kind: Workflow`"
        if loaded.prose is not None:
            hint = "an artifact begins with `---`, `name:`, `type:` and `---`"
        message = f"{loaded.file!r} holds nothing to check: it {why_not_ours(loaded)}"
        yield rule.finding_at(loaded.file, Range.at(1, 1), message, hint=hint)
    elif not loaded.documents and loaded.prose is None:
        rule = BY_CODE["TV005"]
        message = "the file is empty" if not loaded.text.strip() else "the file holds nothing but comments"
        yield rule.finding_at(loaded.file, Range.at(1, 1), message, hint="write the document, or delete the file")


def _findings(loaded: LoadedFile, ours: tuple[Document, ...], project: ProjectIndex) -> Iterator[Finding]:
    yield from _source_findings(loaded)
    has_default = isinstance(mapping(project.config.get("spec")).get("default_model"), str)
    for document in ours:
        yield from document_findings(document, project, loaded=loaded, has_default_model=has_default)


def _passed_over(loaded: LoadedFile, ours: tuple[Document, ...]) -> Iterator[Finding]:
    """Say which documents of a file that was named are not checked."""
    checked = {document.index for document in ours}
    for document in loaded.documents:
        if document.index not in checked:
            place = document.locate((FOREIGN,), key=True)
            message = f"this document has `{FOREIGN}:`, which makes it one of another tool; it is not checked"
            hint = "put it into a file of its own, or take the field out if it is meant for tuvl"
            rule, severity = BY_CODE["TV009"], Severity.NOTE
            yield rule.finding_at(loaded.file, place, message, hint=hint, severity=severity)


def _source_findings(loaded: LoadedFile) -> Iterator[Finding]:
    for problem in loaded.problems:
        rule = BY_CODE[problem.code]
        if isinstance(rule, SourceRule):
            yield rule.report(problem, file=loaded.file)


def document_findings(
    document: Document, project: ProjectIndex, *, loaded: LoadedFile | None, has_default_model: bool
) -> Iterator[Finding]:
    """Check the shape of one document, and offer it to the rules.

    Values that the reader of the file refused are told already; what stands in for them is not judged.
    """
    found = _all_findings(document, project, loaded=loaded, has_default_model=has_default_model)
    if not document.refused:
        return found
    return (finding for finding in found if not _is_about_refused(finding, document))


def _is_about_refused(finding: Finding, document: Document) -> bool:
    start = (finding.line, finding.column)
    for refused in document.refused:
        at = format_path(refused.path)
        below = finding.path == at or not at or finding.path.startswith((f"{at}.", f"{at}["))
        # What stands before the value is about its key.
        if start == refused.start or (below and start >= refused.start):
            return True
    return False


def _all_findings(
    document: Document, project: ProjectIndex, *, loaded: LoadedFile | None, has_default_model: bool
) -> Iterator[Finding]:
    is_prose = loaded is not None and loaded.prose is not None
    kind = PROSE if is_prose else document.kind
    for problem in shape_problems(document.data, kind=kind, project_default_model=has_default_model):
        yield _shape_finding(problem, document)
    if loaded is not None and loaded.size > MAX_BYTES and (is_prose or kind == "Artifact"):
        yield _too_large(loaded)
    if kind not in KINDS and not is_prose:
        return
    switched_off = mapping(document.data).get("enabled", True) is False
    dispatch = FORM_ONLY if switched_off else EVERYTHING
    yield from dispatch.document(Subject(document, project, loaded))


def _shape_finding(problem: ShapeProblem, document: Document) -> Finding:
    rule = BY_CODE[problem.code]
    if not isinstance(rule, ShapeRule):
        raise TypeError(f"{problem.code} is no check of shape")
    return rule.report(problem, document)


def _too_large(loaded: LoadedFile) -> Finding:
    message = f"the artifact is {loaded.size:,} bytes long; {MAX_BYTES // 1024} KiB is the most it may have"
    return BY_CODE["TV003"].finding_at(loaded.file, Range.at(1, 1), message, hint="split it, or shorten it")
