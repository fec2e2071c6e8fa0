"""TV210 unused-artifact."""

from collections.abc import Iterator

from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule
from tuvl.project.index import ProjectIndex


class UnusedArtifact(Rule):
    """Nothing in the project refers to an artifact, in any version.

    A prompt or a guardrail that nothing uses is often one that was meant to be used: the file is there, the reference
    was forgotten. Older versions of an artifact that is in use are left alone.
    """

    code = "TV210"
    name = "unused-artifact"
    severity = Severity.NOTE

    def visit_project(self, project: ProjectIndex) -> Iterator[Finding]:
        """Compare the artifacts with all references to them."""
        used = set(_used_names(project))
        for name, views in project.artifacts.items():
            enabled = [view for view in views if view.enabled]
            if name not in used and enabled:
                view = enabled[-1]
                path = ("name",) if view.body is not None else ("metadata", "name")
                yield self.finding(
                    view.document,
                    path,
                    f"nothing refers to the {view.type or 'artifact'} {name!r}",
                    hint=f"refer to it as `{view.reference}`, or remove the file",
                )


def _used_names(project: ProjectIndex) -> Iterator[str]:
    for entry in project.catalogue():
        if entry.enabled:
            yield from entry.artifacts
