"""What a document depends on beside itself: the project's configuration, and the files that it refers to."""

from collections.abc import Iterator, Sequence
from functools import partial

from tuvl.check.crash import guarded
from tuvl.check.finding import Finding
from tuvl.check.one_file import BY_CODE, FileResult, check_file
from tuvl.check.referred import referred_files
from tuvl.check.rules.duplicate_id import DuplicateId
from tuvl.check.severities import severity_findings
from tuvl.project.hiding import Hiding
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import LoadedFile
from tuvl.source.place import Range

_TWICE = DuplicateId()


def check_depended(start: LoadedFile, project: ProjectIndex) -> Iterator[FileResult]:
    """Check the files that a file refers to, and those whose mistakes may hide what it refers to."""
    referred = referred_files(start, project)
    for loaded in referred.files:
        yield check_file(loaded, project, named=False)
    for hiding in referred.hiding:
        if hiding.loaded is not None:
            yield check_file(hiding.loaded, project, named=True)
        else:
            yield FileResult(hiding.file, (_unreadable(hiding),), counts=False)


def twice_defined(start: LoadedFile, project: ProjectIndex) -> Iterator[Finding]:
    """Look for others of the documents of a file, and of those that it refers to."""
    for loaded in (start, *referred_files(start, project).files):
        for document in loaded.documents:
            yield from _TWICE.of_document(document, project)


def check_configuration(project: ProjectIndex) -> Sequence[FileResult]:
    """Check `tuvl.yaml` with all it refers to; nothing for a project without one."""
    config = project.config_file
    return [] if config is None else [check_file(config, project, named=False), *check_depended(config, project)]


def configuration_findings(project: ProjectIndex) -> list[Finding]:
    """Say why the project's configuration cannot be used, and which settings of severities are none."""
    rule, file = BY_CODE["TV215"], project.relative(project.root)
    unusable = guarded(rule, partial(rule.visit_project, project), file)
    return unusable + guarded(BY_CODE["TV218"], partial(severity_findings, project), file)


def _unreadable(hiding: Hiding) -> Finding:
    message = "the file cannot be read, and may hold what is not found"
    hint = "mend the link or the rights of the file, or delete it"
    return BY_CODE["TV003"].finding_at(hiding.file, Range.at(1, 1), message, hint=hint)
