"""TV801 floating-artifact."""

from collections.abc import Iterator

from tuvl.analysis.pins import floating_references
from tuvl.analysis.steps import mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject

_FLOATS = "names no version, and means another text as soon as there is a higher one"


class FloatingArtifact(Rule):
    """A reference to an artifact names no version.

    It means the highest version there is. Adding one changes every workflow that refers to the name, without a line
    of theirs being touched, and a review of them sees nothing. Where `policy.require_pins` of `tuvl.yaml` is on it is
    an error, and the workflow does not run.
    """

    code = "TV801"
    name = "floating-artifact"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at every reference of the document."""
        spec = mapping(subject.project.config.get("spec"))
        required = mapping(spec.get("policy")).get("require_pins") is True
        said = "names no version, and `policy.require_pins` is on" if required else _FLOATS
        for path, reference in floating_references(mapping(subject.document.data), subject.kind):
            found = subject.project.resolve(reference)
            pinned = found.reference if found is not None else None
            yield self.finding(
                subject,
                path,
                f"{reference!r} {said}",
                hint=f"write `{pinned}`" if pinned else "write `artifact://<name>@<version>`",
                severity=Severity.ERROR if required else None,
                replacement=pinned,
            )
