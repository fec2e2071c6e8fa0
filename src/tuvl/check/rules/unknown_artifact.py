"""TV204 unknown-artifact."""

from collections.abc import Iterator

from tuvl.analysis.reference_faults import misspelt_references
from tuvl.analysis.references import ArtifactReference, artifact_references
from tuvl.analysis.steps import mapping
from tuvl.analysis.surroundings import hidden
from tuvl.artifacts.reference import ArtifactRef
from tuvl.check.faulted import FaultRule
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject
from tuvl.project.index import ProjectIndex
from tuvl.suggest import certain, closest


class UnknownArtifact(FaultRule):
    """A reference names an artifact, or a version of one, that the project does not have.

    Prompts, steering, guardrails and server connections are looked up when the workflow is compiled; without the
    artifact the step cannot run, and a missing guardrail must never be passed over.
    """

    code = "TV204"
    name = "unknown-artifact"
    severity = Severity.ERROR

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look up every reference of the document."""
        data = mapping(subject.document.data)
        yield from self.report(misspelt_references(data, subject.kind), subject)
        for reference in artifact_references(data, subject.kind):
            if reference.is_reference:
                yield from self._look_up(reference, subject)

    def _look_up(self, reference: ArtifactReference, subject: Subject) -> Iterator[Finding]:
        read = ArtifactRef.parse(reference.text)
        if read is None:
            yield self.finding(
                subject,
                reference.path,
                f"{reference.text!r} is no artifact reference",
                hint="write `artifact://<name>@<version>`; the version is a whole number from 1",
            )
        elif subject.project.resolve(reference.text) is None:
            message, hint = _missing(read, subject.project)
            meant = _meant(read, subject.project)
            yield self.finding(subject, reference.path, message, hint=hint, replacement=meant)


def _meant(reference: ArtifactRef, project: ProjectIndex) -> str | None:
    """Return the reference that a misspelt name must mean, if there is an artifact for it."""
    if reference.name in project.artifacts or hidden(reference.name, project) is not None:
        return None
    name = certain(reference.name, project.artifacts)
    meant = None if name is None else str(ArtifactRef(name, reference.version))
    return meant if meant is not None and project.resolve(meant) is not None else None


def _missing(reference: ArtifactRef, project: ProjectIndex) -> tuple[str, str]:
    views = project.artifacts.get(reference.name, ())
    # Two files with one version are a finding of their own.
    enabled = list(dict.fromkeys(view.version for view in views if view.enabled))
    if reference.version is not None and any(view.version == reference.version for view in views):
        return (
            f"version {reference.version} of artifact {reference.name!r} is not enabled",
            "set `enabled: true` in its file, or pin another version",
        )
    if enabled:
        versions = ", ".join(str(version) for version in enabled)
        return (
            f"artifact {reference.name!r} has no version {reference.version}; there is {versions}",
            hidden(reference.name, project) or f"write `artifact://{reference.name}@{enabled[-1]}`",
        )
    if views:
        return f"artifact {reference.name!r} is not enabled", "set `enabled: true` in its file"
    near = closest(reference.name, project.artifacts)
    otherwise = f"add it under the artifacts folder, with `name: {reference.name}`"
    return (
        f"artifact {reference.name!r} is not in this project",
        hidden(reference.name, project) or (f"did you mean {near!r}?" if near else otherwise),
    )
