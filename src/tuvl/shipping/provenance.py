"""Where a release comes from: an in-toto statement with a SLSA v1 provenance predicate. It is not signed."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import tuvl
from tuvl.dataclass import dataclass
from tuvl.shipping.gates import Gate
from tuvl.shipping.packages import OWN
from tuvl.shipping.release import Release
from tuvl.values import JsonObject, JsonValue

FILE = "provenance.intoto.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The state of the repository that the project lies in."""

    commit: str
    changed: tuple[str, ...]
    """Files of the bundle that differ from the commit, or are not in it."""


def provenance(
    release: Release, gates: Sequence[Gate], written: Mapping[str, bytes], *, revision: Revision | None, strict: bool
) -> JsonObject:
    """Make the statement about the bundle and the other files that were written.

    It names no time and no machine: the same project, in the same state, gives the same statement.
    """
    manifest = release.bundle.manifest
    subjects: list[JsonValue] = [
        {"name": name, "digest": {"sha256": sha256(raw).hexdigest()}} for name, raw in sorted(written.items())
    ]
    checks: list[JsonValue] = [gate.to_json() for gate in gates]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:tuvl:ship:v1",
                "externalParameters": {
                    "name": manifest.name,
                    "version": manifest.version,
                    "workflows": [workflow.name for workflow in manifest.workflows],
                    "strict": strict,
                    "image": release.image,
                },
                "internalParameters": {"python": release.python},
                "resolvedDependencies": [*_repository(revision), *_materials(release)],
            },
            "runDetails": {
                "builder": {"id": "urn:tuvl:ship:local", "version": {"tuvl": tuvl.__version__}},
            },
            # A field of our own, which SLSA asks to be named after its vendor.
            "tuvl_checks": checks,
        },
    }


def _repository(revision: Revision | None) -> list[JsonValue]:
    if revision is None:
        return []
    changed: list[JsonValue] = [*revision.changed]
    return [
        {
            "name": "repository",
            "digest": {"gitCommit": revision.commit},
            "annotations": {"dirty": bool(changed), "changed": changed},
        }
    ]


def _materials(release: Release) -> list[JsonValue]:
    files: list[JsonValue] = [
        {"name": entry.path, "digest": {"sha256": entry.sha256}} for entry in release.bundle.manifest.files
    ]
    packages: list[JsonValue] = [
        {"uri": package.purl, **(_own_build(release) if package.name == OWN else {})} for package in release.packages
    ]
    return [*files, *packages]


def _own_build(release: Release) -> JsonObject:
    return {} if release.own_origin is None else {"annotations": {"tested_build": f"from {release.own_origin}"}}
