"""The artifacts of a project by name and version, as plain data."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from tuvl.artifacts.reference import ArtifactRef
from tuvl.dataclass import dataclass
from tuvl.source.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactView:
    """One artifact. `type` may be a name outside the closed set when the file is wrong; a check says so."""

    name: str
    type: str
    version: int
    enabled: bool
    file: str
    body: str | None
    """The text of a prose artifact; `None` for a structured one."""
    template: bool
    """Whether the body is rendered with the workflow's context."""
    description: str | None
    data: Mapping[str, Any]
    """The `spec:` of a structured artifact, the front matter of a prose one."""
    document: Document
    """Where `data` comes from."""
    body_line: int
    """Line of the file on which the body begins; 1 for a structured artifact."""

    @property
    def reference(self) -> str:
        """The pinned reference to this artifact."""
        return str(ArtifactRef(self.name, self.version))


def prose_artifact(document: Document, *, body: str, body_line: int) -> ArtifactView | None:
    """Make the view of a markdown artifact from its front matter; `None` when it has no usable name or version."""
    front = _mapping(document.data)
    return _view(document, front, front, type_=front.get("type"), body=body, body_line=body_line)


def structured_artifact(document: Document) -> ArtifactView | None:
    """Make the view of a `kind: Artifact` document; `None` when it has no usable name or version."""
    data = _mapping(document.data)
    spec = _mapping(data.get("spec"))
    return _view(document, _mapping(data.get("metadata")), spec, type_=spec.get("type"), body=None, body_line=1)


def _view(
    document: Document,
    head: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    type_: object,
    body: str | None,
    body_line: int,
) -> ArtifactView | None:
    name, version = head.get("name"), head.get("version", 1)
    if not isinstance(name, str) or not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return None
    description = head.get("description")
    return ArtifactView(
        name=name,
        type=type_ if isinstance(type_, str) else "",
        version=version,
        enabled=_mapping(document.data).get("enabled", True) is not False,
        file=document.file,
        body=body,
        template=body is not None and head.get("template") is True,
        description=description if isinstance(description, str) else None,
        data=data,
        document=document,
        body_line=body_line,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


class ArtifactRegistry:
    """Artifacts by name, versions ascending; disabled ones are listed but never resolved."""

    def __init__(self, views: Iterable[ArtifactView]) -> None:
        by_name: dict[str, list[ArtifactView]] = {}
        for view in views:
            by_name.setdefault(view.name, []).append(view)
        self.by_name: Mapping[str, tuple[ArtifactView, ...]] = {
            name: tuple(sorted(by_name[name], key=lambda view: view.version)) for name in sorted(by_name)
        }

    def resolve(self, text: str) -> ArtifactView | None:
        """Return the artifact a reference means: the version it pins, else the highest; only enabled ones."""
        reference = ArtifactRef.parse(text)
        if reference is None:
            return None
        candidates = [view for view in self.by_name.get(reference.name, ()) if view.enabled]
        if reference.version is not None:
            # Two files with one version are a finding of their own; the first stands.
            return next((view for view in candidates if view.version == reference.version), None)
        return candidates[-1] if candidates else None
