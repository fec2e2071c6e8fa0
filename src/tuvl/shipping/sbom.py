"""The list of what is inside a release, as a CycloneDX 1.6 document: packages, files, models, servers."""

from uuid import NAMESPACE_URL, uuid5

import tuvl
from tuvl.shipping.needs import ModelNeed, ServerNeed
from tuvl.shipping.packages import OWN, Package
from tuvl.shipping.release import Release
from tuvl.values import JsonObject, JsonValue

FILE = "sbom.cdx.json"


def sbom(release: Release) -> JsonObject:
    """Make the document; the same release gives the same one, so that it names no time."""
    manifest = release.bundle.manifest
    bundle = f"bundle:{release.label}"
    packages: list[JsonValue] = [_package(one, release) for one in release.packages]
    files: list[JsonValue] = [
        {
            "type": "file",
            "bom-ref": f"file:{entry.path}",
            "name": entry.path,
            "hashes": [{"alg": "SHA-256", "content": entry.sha256}],
        }
        for entry in manifest.files
    ]
    models: list[JsonValue] = [_model(one) for one in release.needs.models]
    root: JsonObject = {
        "type": "application",
        "bom-ref": bundle,
        "name": manifest.name,
        "version": manifest.version,
        "hashes": [{"alg": "SHA-256", "content": release.bundle.digest.removeprefix("sha256:")}],
    }
    document: JsonObject = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, release.bundle.digest)}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": OWN, "version": tuvl.__version__}]},
            "component": root,
        },
        "components": [*packages, *files, *models],
        "dependencies": _dependencies(release, bundle),
    }
    if release.needs.servers:
        document["services"] = [_server(one) for one in release.needs.servers]
    return document


def _package(package: Package, release: Release) -> JsonObject:
    of_tests: JsonObject = {}
    if package.name == OWN and release.own_origin is not None:
        of_tests = {"properties": [{"name": "tuvl:tested_build", "value": f"from {release.own_origin}"}]}
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        **of_tests,
    }


def _model(model: ModelNeed) -> JsonObject:
    described: JsonObject = {} if model.preset is None else {"description": f"AgentModel {model.preset}"}
    return {
        "type": "machine-learning-model",
        "bom-ref": _model_ref(model),
        "publisher": model.provider or "unknown",
        "name": model.model,
        **described,
    }


def _model_ref(model: ModelNeed) -> str:
    return f"model:{model.preset or ''}:{model.provider}/{model.model}"


def _server(server: ServerNeed) -> JsonObject:
    place: JsonObject = {"endpoints": [server.place]} if server.transport != "stdio" else {}
    return {
        "bom-ref": f"server:{server.name}@{server.version}",
        "name": server.name,
        "version": server.version,
        "description": f"MCP server over {server.transport}" + ("" if place else f", started as {server.place}"),
        **place,
    }


def _dependencies(release: Release, bundle: str) -> list[JsonValue]:
    purls = {package.name: package.purl for package in release.packages}
    direct = [purls[name] for name in (OWN, *(one.name for one in release.node_packages)) if name in purls]
    own: list[JsonValue] = [
        *direct,
        *(f"file:{entry.path}" for entry in release.bundle.manifest.files),
        *(_model_ref(model) for model in release.needs.models),
        *(f"server:{server.name}@{server.version}" for server in release.needs.servers),
    ]
    of_packages: list[JsonValue] = [
        {"ref": package.purl, "dependsOn": [purls[need] for need in package.needs]} for package in release.packages
    ]
    return [{"ref": bundle, "dependsOn": own}, *of_packages]
