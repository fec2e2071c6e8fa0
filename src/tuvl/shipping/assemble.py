"""A checked project → a release, and the files of a release."""

import json
import re
from hashlib import sha256

import tuvl
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.scenarios.example_input import example_input
from tuvl.shipping import compose, dockerfile, kubernetes, sbom
from tuvl.shipping.bundle import make_bundle
from tuvl.shipping.contents import Contents
from tuvl.shipping.manifest import Manifest, WorkflowEntry, file_entries
from tuvl.shipping.needs import needs_of
from tuvl.shipping.packages import distributions_of, inventory, own_origin, python_version, required
from tuvl.shipping.release import Release, WorkflowFacts, default_image
from tuvl.source.document import Document
from tuvl.tools.schema import ValueSchema
from tuvl.values import JsonObject

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(rf"(?=.{{1,255}}\Z)(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?", re.ASCII)
"""A name as registries and `docker build --tag` take it: a host, parts, a tag, and no digest, which nobody chooses."""
_DIGITS = 12
"""Hexadecimal digits that stand for the version of a project that names none."""


def assemble(project: ProjectIndex, contents: Contents, *, image: str | None = None) -> Release:
    """Make the release of a project; raises `UsageError` for a version or an image that cannot be a name."""
    needs = needs_of(contents)
    head = mapping(project.config.get("metadata"))
    name, version = text(head.get("name")) or "project", _version(head.get("version"), contents)
    if image is not None and not _IMAGE.fullmatch(image):
        raise UsageError(f"--image takes the name of an image, e.g. registry.example.com/{name}:1.0, not {image!r}")
    manifest = Manifest(
        name=name,
        version=version,
        tuvl=tuvl.__version__,
        extras=needs.extras,
        imports=needs.imports,
        workflows=tuple(
            WorkflowEntry(name=workflow, file=file) for workflow, file in sorted(contents.workflow_files.items())
        ),
        files=file_entries(contents.files),
    )
    if needs.requirements is None:
        named = set(distributions_of(needs.imports).values())
    else:
        named = {requirement.name for requirement in required(needs.requirements)}
    found = inventory(needs.extras, named)
    packages = found.packages
    return Release(
        bundle=make_bundle(manifest, contents.files),
        needs=needs,
        workflows=tuple(sorted(map(_facts, contents.workflows), key=lambda one: one.name)),
        packages=packages,
        node_packages=tuple(one for one in packages if one.name in named),
        # What the project itself asks for is told of by its own list.
        missing={name: asks for name, asks in found.missing.items() if name not in named},
        own_origin=own_origin(),
        python=python_version(),
        image=image or default_image(name, version),
    )


def _version(given: object, contents: Contents) -> str:
    if given is None:
        listed = "".join(f"{entry.sha256} {entry.path}\n" for entry in file_entries(contents.files))
        return sha256(listed.encode("utf-8")).hexdigest()[:_DIGITS]
    version = str(given)
    if not _NAME.fullmatch(version):
        raise UsageError(
            f"`metadata.version` of tuvl.yaml is {version!r}, and a file is named after it; write e.g. 1.4.0"
        )
    return version


def _facts(document: Document) -> WorkflowFacts:
    view = WorkflowView(mapping(document.data))
    schema, timeout = view.spec.get("input"), mapping(view.spec.get("limits")).get("timeout_s")
    trigger = mapping(view.spec.get("trigger"))
    given = dict(mapping(trigger.get("input")))
    return WorkflowFacts(
        name=view.name,
        schedule=text(trigger.get("schedule")),
        timezone=text(trigger.get("timezone")) or "Etc/UTC",
        timeout_s=float(timeout) if isinstance(timeout, int | float) else None,
        example=given or example_input(schema),
        needs_input=isinstance(schema, dict) and not ValueSchema(schema).is_valid(given),
    )


def release_files(release: Release) -> dict[str, bytes]:
    """Return the files of a release by name, the statement of where it comes from aside."""
    texts = {
        "Dockerfile": dockerfile.dockerfile(release),
        ".dockerignore": dockerfile.dockerignore(release),
        dockerfile.REQUIREMENTS_FILE: dockerfile.requirements(release),
        dockerfile.CONSTRAINTS_FILE: dockerfile.constraints(release),
        compose.FILE: compose.compose(release),
        kubernetes.FILE: kubernetes.kubernetes(release),
        sbom.FILE: document_text(sbom.sbom(release)),
    }
    return {release.file: release.bundle.raw, **{name: one.encode("utf-8") for name, one in texts.items()}}


def document_text(document: JsonObject) -> str:
    """Write a JSON document, the same each time."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
