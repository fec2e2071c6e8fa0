"""What deploys a bundle is what Docker, compose, Kubernetes and readers of SBOMs and attestations take."""

import io
import json
import re
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser
from referencing import Registry, Resource

import tuvl
from tests.cli.cli_support import write
from tests.shipping.shipping_support import NEEDED, PRICE, price_desk, release_of
from tuvl.shipping.assemble import release_files
from tuvl.shipping.gates import Gate
from tuvl.shipping.kubernetes import cron_of_kubernetes
from tuvl.shipping.packages import inventory, own_package
from tuvl.shipping.provenance import Revision, provenance
from tuvl.shipping.release import Release, default_image, dns_label

NOBODY = "10001"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release_of(price_desk(tmp_path_factory.mktemp("desk")))


@pytest.fixture(scope="module")
def files(release: Release) -> dict[str, str]:
    return {name: raw.decode("utf-8", "replace") for name, raw in release_files(release).items()}


def manifests(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def of_kind(files: dict[str, str], kind: str) -> dict[str, Any]:
    (found,) = [one for one in manifests(files["kubernetes.yaml"]) if one["kind"] == kind]
    return found


def pods(files: dict[str, str]) -> Iterator[dict[str, Any]]:
    yield of_kind(files, "Job")["spec"]["template"]["spec"]
    yield of_kind(files, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


# ---- Docker ----------------------------------------------------------------------------------------------------------


def instructions(text: str) -> list[tuple[str, str]]:
    parser = DockerfileParser(fileobj=io.BytesIO(text.encode()))
    return [(one["instruction"], one["value"]) for one in parser.structure if one["instruction"] != "COMMENT"]


def test_image_runs_one_bundle_as_nobody_and_checks_it(files: dict[str, str], release: Release) -> None:
    found = instructions(files["Dockerfile"])
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim", dict(found)["FROM"])
    assert [value for name, value in found if name == "USER"] == [f"{NOBODY}:{NOBODY}"]
    assert json.loads(dict(found)["ENTRYPOINT"]) == ["tuvl"]
    health = dict(found)["HEALTHCHECK"].partition("CMD ")[2]
    assert json.loads(health) == ["tuvl", "validate", "--quiet", "/app/bundle.tuvl"]
    # Whatever the modes of the folder are, the image can read what is copied into it.
    copied = [value.removeprefix("--chmod=0444 ") for name, value in found if name == "COPY"]
    assert [json.loads(value) for value in copied if value.startswith("[")] == [
        ["price-desk-1.4.0.tuvl", "/app/bundle.tuvl"]
    ]
    assert [value for value in copied if not value.startswith("[")] == ["requirements.txt constraints.txt /build/"]
    # Whatever needs rights comes before they are given up, and nothing is run with them at last.
    names = [name for name, _ in found]
    assert names.index("USER") < names.index("HEALTHCHECK") < names.index("ENTRYPOINT")


def test_image_of_one_workflow_runs_it_with_the_digest_pinned(tmp_path: Path) -> None:
    desk = price_desk(tmp_path)
    (desk / "workflows" / "ask.yaml").unlink()
    release = release_of(desk)
    command = json.loads(dict(instructions(release_files(release)["Dockerfile"].decode()))["CMD"])
    pinned = ["--bundle-digest", release.bundle.digest]
    assert command == ["run", "/app/bundle.tuvl", *pinned, "--workflow", "price_order", "--input", "-"]


def test_image_installs_this_very_tuvl_with_the_extras_that_are_needed() -> None:
    assert own_package(["postgres", "mcp"]) == f"tuvl[mcp,postgres]=={tuvl.__version__}"
    assert own_package([]) == f"tuvl=={tuvl.__version__}"


def test_versions_are_those_the_tests_ran_with(files: dict[str, str]) -> None:
    assert files["requirements.txt"].splitlines()[1:] == [own_package([])]
    pins = dict(line.split("==") for line in files["constraints.txt"].splitlines() if not line.startswith("#"))
    assert pins["httpx"] == metadata.version("httpx")
    assert "tuvl" not in pins
    assert "mcp" not in pins
    assert set(pins) < {package.name for package in inventory(["mcp", "otel", "postgres"]).packages}


def test_what_the_project_asks_for_wins_over_what_is_installed(tmp_path: Path) -> None:
    desk = write(price_desk(tmp_path), {"requirements.txt": "httpx>=0.1\n"})
    found = {name: raw.decode() for name, raw in release_files(release_of(desk)).items() if name.endswith(".txt")}
    assert found["requirements.txt"].endswith("\nhttpx>=0.1\n")
    assert not re.search(r"^httpx==", found["constraints.txt"], re.MULTILINE)


def test_a_build_sees_the_bundle_and_the_lists_alone(files: dict[str, str]) -> None:
    lines = [line for line in files[".dockerignore"].splitlines() if not line.startswith("#")]
    assert lines == ["*", "!price-desk-1.4.0.tuvl", "!requirements.txt", "!constraints.txt"]


# ---- compose ---------------------------------------------------------------------------------------------------------


def test_compose_file_is_one_with_a_locked_down_service_a_workflow(files: dict[str, str], release: Release) -> None:
    compose = PyCompose.from_yaml(files["compose.yaml"])
    compose.validate()
    assert sorted(compose.service_names()) == ["ask_daily", "price_order"]
    for name, service in yaml.safe_load(files["compose.yaml"])["services"].items():
        assert service["user"] == f"{NOBODY}:{NOBODY}"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["environment"] == ["API_BASE", "MODEL_KEY", "TUVL_DATABASE_URL"]
        assert service["command"] == release.arguments(name, input="-")
        # `docker compose up` starts nothing: a run wants an input.
        assert service["profiles"] == ["run"]


# ---- Kubernetes ------------------------------------------------------------------------------------------------------


def test_manifests_are_those_of_the_schema(files: dict[str, str]) -> None:
    found = manifests(files["kubernetes.yaml"])
    assert [one["kind"] for one in found] == ["ServiceAccount", "ConfigMap", "CronJob", "Job"]
    for document in found:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_containers_have_no_rights_and_bounded_resources(files: dict[str, str]) -> None:
    for pod in pods(files):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["initContainers"], *pod["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert set(container["resources"]["limits"]) == {"cpu", "memory"}
            # Where files must be written: what a bundle is laid out in, and what a run keeps.
            assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/tmp", "/state"}


def test_bundle_is_checked_before_it_runs_and_is_the_one_that_was_shipped(
    files: dict[str, str], release: Release
) -> None:
    for pod in pods(files):
        assert pod["initContainers"][0]["args"] == ["validate", "--quiet", "/app/bundle.tuvl"]
        (run,) = pod["containers"]
        assert run["args"][:4] == ["run", "/app/bundle.tuvl", "--bundle-digest", release.bundle.digest]


def test_each_variable_comes_from_the_secret_and_none_has_a_value(files: dict[str, str]) -> None:
    for pod in pods(files):
        (run,) = pod["containers"]
        assert [(one["name"], one["valueFrom"]["secretKeyRef"]) for one in run["env"]] == [
            ("API_BASE", {"name": "price-desk-secrets", "key": "API_BASE", "optional": True}),
            ("MODEL_KEY", {"name": "price-desk-secrets", "key": "MODEL_KEY", "optional": False}),
            ("TUVL_DATABASE_URL", {"name": "price-desk-secrets", "key": "TUVL_DATABASE_URL", "optional": True}),
        ]
        assert all("value" not in one for one in run["env"])
    assert "--from-literal=MODEL_KEY=" in files["kubernetes.yaml"]


def test_workflow_with_a_schedule_is_a_cron_job_of_bounded_runs(files: dict[str, str]) -> None:
    spec = of_kind(files, "CronJob")["spec"]
    assert spec["schedule"] == "30 6 * * 5,6,0"
    assert spec["timeZone"] == "Etc/UTC"
    assert spec["suspend"] is False
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 60 + 60
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0


def test_a_cron_job_has_the_time_zone_and_the_input_of_its_schedule(tmp_path: Path) -> None:
    trigger = '{ schedule: "30 6 * * *", timezone: Europe/Berlin, input: { items: [4] } }'
    scheduled = PRICE.replace("  limits:", f"  trigger: {trigger}\n  limits:")
    written = release_files(release_of(write(tmp_path, {**NEEDED, "workflows/price.yaml": scheduled})))
    found = manifests(written["kubernetes.yaml"].decode())
    jobs = [one for one in found if one["kind"] == "CronJob"]
    (spec,) = [one["spec"] for one in jobs if "price-order" in one["metadata"]["name"]]
    assert (spec["schedule"], spec["timeZone"], spec["suspend"]) == ("30 6 * * *", "Europe/Berlin", False)
    (config,) = [one for one in found if one["kind"] == "ConfigMap"]
    assert json.loads(config["data"]["price_order.json"]) == {"items": [4]}


def test_workflow_that_wants_an_input_waits_for_one(files: dict[str, str]) -> None:
    job = of_kind(files, "Job")
    assert job["spec"]["suspend"] is True
    assert json.loads(of_kind(files, "ConfigMap")["data"]["price_order.json"]) == {"items": []}
    assert "/inputs/price_order.json" in job["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("*/15 * * * *", "*/15 * * * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 1 jan mon-fri", "0 0 1 jan mon-fri"),
        ("0 0 * * 1,7", "0 0 * * 1,0"),
        ("0 0 * * 5-7", "0 0 * * 5,6,0"),
        ("0 0 * * 0-7/2", "0 0 * * 0,2,4,6"),
        ("0 0 * * 1-5", "0 0 * * 1-5"),
        ("0 0 * * */7", "0 0 * * */7"),
    ],
)
def test_sunday_is_zero_in_a_cluster(given: str, written: str) -> None:
    assert cron_of_kubernetes(given) == written


@pytest.mark.parametrize("parts", [("a", "b"), ("A", "b"), ("a", "b_c"), ("7", "x"), ("a" * 200, "b"), ("__", "--")])
def test_name_in_a_cluster_is_one_it_takes(parts: tuple[str, str]) -> None:
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,50}[a-z0-9])?", dns_label(*parts))


def test_names_that_look_alike_in_a_cluster_stay_apart() -> None:
    assert len({dns_label("p", "a_b"), dns_label("p", "a.b"), dns_label("p", "a-b"), dns_label("p", "A-B")}) == 4


def test_each_release_of_a_job_has_a_name_of_its_own(files: dict[str, str], tmp_path: Path) -> None:
    config = NEEDED["tuvl.yaml"].replace("1.4.0", "1.5.0")
    other = release_files(release_of(write(price_desk(tmp_path), {"tuvl.yaml": config})))
    later = of_kind({name: raw.decode("utf-8", "replace") for name, raw in other.items()}, "Job")
    assert later["metadata"]["name"] != of_kind(files, "Job")["metadata"]["name"]


@pytest.mark.parametrize(
    ("name", "version", "image"),
    [
        ("price-desk", "1.4.0", "price-desk:1.4.0"),
        ("Price_Desk", "1+local", "price-desk:1-local"),
        ("__", "1", "workflows:1"),
    ],
)
def test_image_is_called_as_registries_take_it(name: str, version: str, image: str) -> None:
    assert default_image(name, version) == image


# ---- what is inside --------------------------------------------------------------------------------------------------


def cyclonedx(document: dict[str, Any]) -> None:
    """Check a document against the official schema, which comes with a package."""
    folder = resources.files("cyclonedx.schema") / "_res"
    schemas = {
        name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text(encoding="utf-8"))
        for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    known = [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    registry: Registry[Any] = Registry().with_resources(known)
    jsonschema.Draft7Validator(schemas["bom-1.6"], registry=registry).validate(document)


def test_list_of_what_is_inside_is_one_of_cyclonedx(files: dict[str, str]) -> None:
    document = json.loads(files["sbom.cdx.json"])
    cyclonedx(document)
    with pytest.raises(jsonschema.ValidationError):
        cyclonedx({**document, "specVersion": 1.6})


def test_list_of_what_is_inside_names_files_packages_and_models(files: dict[str, str], release: Release) -> None:
    document = json.loads(files["sbom.cdx.json"])
    by_type: dict[str, set[str]] = {}
    for component in document["components"]:
        by_type.setdefault(component["type"], set()).add(component["name"])
    assert by_type["file"] == set(NEEDED)
    assert by_type["machine-learning-model"] == {"cheap", "small-2026-01-01"}
    assert {"tuvl", "httpx", "pydantic"} <= by_type["library"]
    digests = {one["name"]: one["hashes"][0]["content"] for one in document["components"] if one["type"] == "file"}
    assert digests == {entry.path: entry.sha256 for entry in release.bundle.manifest.files}
    refs = [one["bom-ref"] for one in document["components"]]
    assert len(refs) == len(set(refs))
    assert {need for one in document["dependencies"] for need in one["dependsOn"]} <= set(refs)


def test_servers_are_on_the_list(tmp_path: Path) -> None:
    spec = "{ type: mcp, transport: http, url: https://mcp.example.com/x }"
    server = f"kind: Artifact\nmetadata: {{ name: clock }}\nspec: {spec}\n"
    step = (
        "{ id: now, kind: MCP, mcp: { server: artifact://clock@1, tool: now }, routes: { default: END, error: END } }"
    )
    workflow = f"kind: Workflow\nmetadata: {{ name: clock }}\nspec:\n  steps:\n    - {step}\n"
    desk = write(price_desk(tmp_path), {"artifacts/clock.yaml": server, "workflows/clock.yaml": workflow})
    document = json.loads(release_files(release_of(desk))["sbom.cdx.json"])
    cyclonedx(document)
    assert [(one["name"], one["endpoints"]) for one in document["services"]] == [
        ("clock", ["https://mcp.example.com/x"])
    ]


# ---- where it comes from ---------------------------------------------------------------------------------------------


def test_statement_of_provenance_has_the_shape_of_in_toto_and_slsa(release: Release) -> None:
    gates = [Gate(name="validate", verdict="warned", said="", counts={"errors": 0, "warnings": 2})]
    revision = Revision(commit="c0ffee" * 6 + "c0ff", changed=("tuvl.yaml",))
    written = release_files(release)
    statement: Any = provenance(release, gates, written, revision=revision, strict=False)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert f"sha256:{subjects['price-desk-1.4.0.tuvl']}" == release.bundle.digest
    assert set(subjects) == set(written)
    definition, details = (statement["predicate"][key] for key in ("buildDefinition", "runDetails"))
    assert re.match(r"[a-z]+:", definition["buildType"])
    assert re.match(r"[a-z]+:", details["builder"]["id"])
    repository, *materials = definition["resolvedDependencies"]
    assert repository["digest"] == {"gitCommit": revision.commit}
    assert repository["annotations"] == {"dirty": True, "changed": ["tuvl.yaml"]}
    files = {one["name"]: one["digest"]["sha256"] for one in materials if "name" in one}
    assert files == {entry.path: entry.sha256 for entry in release.bundle.manifest.files}
    assert statement["predicate"]["tuvl_checks"] == [
        {"name": "validate", "result": "warned", "errors": 0, "warnings": 2}
    ]


def test_outside_of_a_repository_no_commit_is_named(release: Release) -> None:
    statement: Any = provenance(release, [], {}, revision=None, strict=True)
    materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert not any("gitCommit" in one.get("digest", {}) for one in materials)


def test_files_of_the_same_project_are_the_same(release: Release, tmp_path: Path) -> None:
    assert release_files(release_of(price_desk(tmp_path / "elsewhere"))) == release_files(release)
