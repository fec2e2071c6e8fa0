"""Runs the checks of `tuvl ship`: those that only matter, or can only be made, when a project leaves the house."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tuvl.check.crash import guarded
from tuvl.check.finding import Finding, Severity
from tuvl.check.one_file import FileResult
from tuvl.check.rules import ALL_RULES
from tuvl.check.severities import weighed
from tuvl.check.shipment import Shipment, ShipRule
from tuvl.check.suppressing import suppress
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import YAML_SUFFIXES, is_prose
from tuvl.source.document import Document

SHIP_RULES: tuple[ShipRule, ...] = tuple(rule for rule in ALL_RULES if isinstance(rule, ShipRule))
"""The checks that run before a project is shipped, and in no validation."""


def ship_findings(
    project: ProjectIndex, *, workflows: Sequence[Document] | None = None, strict: bool = False
) -> list[Finding]:
    """Check a project on its way out, in source order; without `workflows` all of them leave.

    Comments that hide findings count, and so do the severities that the project sets. `strict` makes an error of
    whatever is then left. Nothing is run, and no server is asked: tools are compared with the lock by `tuvl lock`.
    """
    shipment = Shipment.of(project, workflows)
    file = project.relative(project.root)
    found = [each for rule in SHIP_RULES for each in guarded(rule, partial(rule.visit_shipment, shipment), file)]
    kept = weighed(_shown(found, project), project)
    if strict:
        kept = [replace(finding, severity=Severity.ERROR) for finding in kept]
    return sorted(set(kept), key=lambda finding: finding.order)


def _shown(findings: Iterable[Finding], project: ProjectIndex) -> Iterator[Finding]:
    """Leave out what comments hide."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.file, []).append(finding)
    for file, of_file in by_file.items():
        path = Path(file)
        loaded = project.load(path) if path.suffix.lower() in YAML_SUFFIXES or is_prose(path) else None
        if loaded is None or not loaded.suppressions:
            yield from of_file
            continue
        # Comments about other checks are judged where those run.
        about = [each for each in loaded.suppressions if not {rule.code for rule in SHIP_RULES}.isdisjoint(each.codes)]
        result = FileResult(file, tuple(of_file), True, tuple(about), loaded.text)
        codes = {finding.code for finding in of_file}
        yield from (finding for finding in suppress(result) if finding.code in codes)
