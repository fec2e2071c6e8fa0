"""Checks paths: collects the findings of files and projects, hides what comments hide, and makes the report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tuvl.analysis.steps import mapping
from tuvl.check.depended import check_configuration, check_depended, configuration_findings, twice_defined
from tuvl.check.dispatch import EVERYTHING
from tuvl.check.finding import Finding, Report
from tuvl.check.one_file import BY_CODE, FileResult, check_file, document_findings
from tuvl.check.parallel import check_many
from tuvl.check.selection import Selection, select_codes
from tuvl.check.severities import weighed
from tuvl.check.suppressing import suppress
from tuvl.check.targets import Target, find_targets
from tuvl.project.index import ProjectIndex
from tuvl.project.loading import display_name
from tuvl.source.document import Document
from tuvl.source.place import Range


def check_paths(
    paths: Sequence[Path],
    *,
    project: Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    jobs: int = 1,
    stand_ins: Mapping[Path, bytes] | None = None,
    touched: Callable[[ProjectIndex], frozenset[str]] | None = None,
    max_cost_usd: float | None = None,
    strict: bool = False,
    afterwards: Callable[[Sequence[Target], Report], None] | None = None,
) -> Report:
    """Check files, folders and projects; without paths the project of the working directory.

    A file that is named is checked together with the documents it refers to, and must hold a document; in a folder
    other YAML is passed over. Nothing of the project is run. With `jobs` above 1 large projects are shared out to so
    many processes, which is not for programs with threads. Raises `UsageError` for codes that do not exist.
    `stand_ins` are read in place of files; `touched` names the only files of a project, as messages call them, whose
    findings are wanted. `max_cost_usd` is what one run of a workflow may cost by its proved worst case; `strict` asks
    for all the bounds of an agent. `afterwards` is told what was checked, and the report.
    """
    selection = select_codes(select, ignore)
    found = find_targets(paths, project=project)
    unreadable = list(found.unreadable)
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    checked: list[str] = []
    for target in found.targets:
        target.index.cost_ceiling_usd = max_cost_usd
        target.index.strict = strict
        for path, raw in (stand_ins or {}).items():
            target.index.stand_in(path, raw)
        of_target, files = _check_target(target, jobs, None if touched is None else touched(target.index))
        findings += of_target
        checked += files
        unreadable += target.index.unreadable
        texts |= _texts(target.index, of_target)
    kept = _kept(findings, selection)
    report = Report.of(kept, files=len(checked), unreadable=unreadable, texts=texts, checked=checked)
    if afterwards is not None:
        afterwards(found.targets, report)
    return report


def check_document(document: Document, project: ProjectIndex) -> list[Finding]:
    """Check one document of a project as `report_on` does; in source order."""
    return list(report_on(document, project).findings)


def report_on(document: Document, project: ProjectIndex) -> Report:
    """Check one document of a project, together with the files it stands in and refers to.

    This is what a run asks before it starts. Comments that hide findings count.
    """
    loaded = project.file_of(document)
    if loaded is None:
        has_default = isinstance(mapping(project.config.get("spec")).get("default_model"), str)
        found = list(document_findings(document, project, loaded=None, has_default_model=has_default))
        return Report.of(found, files=1)
    results = {loaded.file: check_file(loaded, project, named=True)}
    for result in (*check_depended(loaded, project), *check_configuration(project)):
        results.setdefault(result.file, result)
    of_project = [*twice_defined(loaded, project), *configuration_findings(project)]
    findings = weighed(merged(results, of_project), project)
    return Report.of(findings, files=len(results), texts=_texts(project, findings))


def _kept(findings: Iterable[Finding], selection: Selection) -> Iterable[Finding]:
    return (finding for finding in findings if selection.keeps(finding))


def _check_target(target: Target, jobs: int, touched: frozenset[str] | None) -> tuple[list[Finding], list[str]]:
    """Return the findings of one project, or of what was touched of it, and the files that were checked."""
    index, asked = target.index, target.asked
    results: dict[str, FileResult] = {}
    of_project: list[Finding] = []
    for path in _among(asked.named, touched):
        loaded = index.load(path)
        if loaded is None:
            continue
        results[loaded.file] = check_file(loaded, index, named=True)
        for result in check_depended(loaded, index):
            results.setdefault(result.file, result)
        of_project += twice_defined(loaded, index)
    if asked.folders:
        for result in check_many(index, list(_among(target.walked, touched)), jobs=jobs):
            results.setdefault(result.file, result)
        of_project += [finding for finding in EVERYTHING.project(index) if target.covers(finding.file)]
        if touched is None and not asked.holds_projects and not any(result.counts for result in results.values()):
            of_project += [_nothing_in(folder) for folder in asked.folders]
    if touched is not None:
        results = {file: result for file, result in results.items() if file in touched}
        of_project = [finding for finding in of_project if finding.file in touched]
    checked = [file for file, result in results.items() if result.counts]
    # All that is checked depends on the configuration, whichever file was named.
    for result in check_configuration(index):
        results.setdefault(result.file, result)
    of_project = list(dict.fromkeys((*of_project, *configuration_findings(index))))
    return weighed(merged(results, of_project), index), checked


def _among(paths: Iterable[Path], touched: frozenset[str] | None) -> Iterator[Path]:
    return (path for path in paths if touched is None or display_name(path) in touched)


def merged(results: Mapping[str, FileResult], of_project: Iterable[Finding]) -> list[Finding]:
    """Put the findings of files and those of their project together, without what comments hide."""
    findings: list[Finding] = []
    in_file: dict[str, list[Finding]] = {file: [] for file in results}
    for finding in of_project:
        in_file.get(finding.file, findings).append(finding)
    for file, result in results.items():
        findings += suppress(result, in_file[file])
    return findings


def _nothing_in(folder: Path) -> Finding:
    name = display_name(folder)
    message = f"the folder {name!r} holds no document to check"
    hint = "name a folder with documents; each begins with `kind:`, e.g. `kind: Workflow`"
    return BY_CODE["TV009"].finding_at(name, Range.at(1, 1), message, hint=hint)


def _texts(index: ProjectIndex, findings: Iterable[Finding]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for file in {finding.file for finding in findings}:
        text = index.text_of(file)
        if text is not None:
            texts[file] = text
    return texts
