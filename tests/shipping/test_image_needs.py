"""What the image of a bundle has, and what is told of what it lacks."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_support import write
from tests.shipping.shipping_support import price_desk, release_of
from tuvl.errors import UsageError
from tuvl.shipping.assemble import release_files
from tuvl.shipping.caveats import notes_of, warnings_of
from tuvl.shipping.packages import own_package


def with_server(folder: Path, spec: str, **files: str) -> Path:
    """Write a project that asks a server which is started as a program."""
    server = f"kind: Artifact\nmetadata: {{ name: clock }}\nspec: {{ type: mcp, transport: stdio, {spec} }}\n"
    step = (
        "{ id: now, kind: MCP, mcp: { server: artifact://clock@1, tool: now }, routes: { default: END, error: END } }"
    )
    flow = f"kind: Workflow\nmetadata: {{ name: clock }}\nspec:\n  steps:\n    - {step}\n"
    return write(folder, {"artifacts/clock.yaml": server, "workflows/clock.yaml": flow, **files})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("command: clock-server", "'clock-server', a program that no package of the image brings"),
        ("command: python, args: [-m, nonesuch.server]", "`python -m nonesuch.server`, a module that no package"),
        ("command: python3, args: [-u, tools/clock.py]", "`python3 tools/clock.py`, a file that is not where"),
    ],
)
def test_server_that_is_started_in_the_image_warns_of_what_the_image_lacks(
    tmp_path: Path, spec: str, said: str
) -> None:
    release = release_of(with_server(tmp_path, spec))
    assert release.needs.extras == ("mcp",)
    assert [line.partition(" is started as ")[2][: len(said)] for line in warnings_of(release)] == [said]


@pytest.mark.parametrize(
    "spec", ["command: mcp-server-time", "command: python, args: [-m, mcp_server_time, --local-timezone, UTC]"]
)
def test_server_whose_package_the_project_names_is_in_the_image(tmp_path: Path, spec: str) -> None:
    version = metadata.version("mcp-server-time")
    desk = with_server(tmp_path, spec, **{"requirements.txt": f"mcp-server-time=={version}\n"})
    release = release_of(desk)
    assert list(warnings_of(release)) == []
    assert f"mcp-server-time=={version}" in release_files(release)["requirements.txt"].decode()


ORDER = "kind: ModelDefinition\nmetadata: { name: Order }\nspec: { tablename: orders, %sfields: [%s] }\n"
ID = "{ name: id, type: string, primary_key: true }"
SOURCES = {
    "postgresql": "connection: { host: db.example.com, database: shop, username: app, password: '${DB_PASSWORD}' }",
    "sqlite": "connection: shop.db",
}


@pytest.mark.parametrize(("source", "warned"), [(None, True), ("sqlite", True), ("postgresql", False)])
def test_records_in_a_file_warn_and_records_in_a_database_do_not(
    tmp_path: Path, source: str | None, warned: bool
) -> None:
    files = {
        "workflows/save.yaml": "kind: Workflow\nmetadata: { name: save }\nspec:\n  context: Order\n  steps:\n"
        "    - { id: all, kind: ModelOp, model: Order, operation: list, routes: { default: END, error: END } }\n"
    }
    if source is not None:
        text = f"kind: DataSource\nmetadata: {{ name: main }}\nspec: {{ type: {source}, {SOURCES[source]} }}\n"
        files["datasources/main.yaml"] = text
    files["models/order.yaml"] = ORDER % ("" if source is None else "datasource: main, ", ID)
    release = release_of(write(tmp_path, files))
    assert ["records of Order are kept in a SQLite file" in line for line in warnings_of(release)] == [True] * warned


def test_package_of_an_extra_that_is_not_installed_here_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.distribution

    def without(name: str) -> metadata.Distribution:
        if name == "mcp":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "distribution", without)
    release = release_of(with_server(tmp_path, "command: python, args: [-c, pass]"))
    assert release.missing == {"mcp": "tuvl[mcp]"}
    (told,) = warnings_of(release)
    assert "the image installs 'mcp', which tuvl[mcp] asks for and which is not installed here" in told
    assert own_package(["mcp"]) in told


def test_what_the_image_installs_is_all_pinned_where_all_is_installed(tmp_path: Path) -> None:
    release = release_of(with_server(tmp_path, "command: python, args: [-c, pass]"))
    assert release.missing == {}
    pins = release_files(release)["constraints.txt"].decode()
    assert f"mcp=={metadata.version('mcp')}" in pins


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (None, None),
        ('{"url": "file:///x", "dir_info": {"editable": true}}', "a source checkout"),
        ('{"url": "https://x/x.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}', "a repository"),
        ('{"url": "file:///x.whl", "archive_info": {}}', "a file"),
        ("{", None),
    ],
)
def test_build_of_tuvl_that_no_index_gave_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str | None, origin: str | None
) -> None:
    found = metadata.distribution("tuvl")

    class Own(metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return record if filename == "direct_url.json" else found.read_text(filename)

        def locate_file(self, path: Any) -> Any:
            return found.locate_file(path)

    ask = metadata.distribution
    monkeypatch.setattr(metadata, "distribution", lambda name: Own() if name == "tuvl" else ask(name))
    release = release_of(price_desk(tmp_path))
    assert release.own_origin == origin
    assert [f"a tuvl from {origin}," in note for note in notes_of(release)] == [True] * (origin is not None)
    own = next(
        one for one in json.loads(release_files(release)["sbom.cdx.json"])["components"] if one["name"] == "tuvl"
    )
    expected = None if origin is None else [{"name": "tuvl:tested_build", "value": f"from {origin}"}]
    assert own.get("properties") == expected
    assert list(warnings_of(release)) == []


@pytest.mark.parametrize(
    "image", ["desk", "desk:1", "reg.io/a/b_c:v1.2", "localhost:5000/x", "Reg.IO/x:1", "a--b/c__d:_1", "a/" * 60 + "x"]
)
def test_name_of_an_image_is_taken_as_registries_take_it(tmp_path: Path, image: str) -> None:
    assert release_of(price_desk(tmp_path), image=image).image == image


@pytest.mark.parametrize(
    "image",
    [
        *(
            "",
            "x:1:2",
            "reg.io/x:1:2",
            "x@sha256:abc",
            f"x@sha256:{'a' * 64}",
            "X",
            "reg.io/X",
            "x:",
            "x/",
            "/x",
            "a//b",
        ),
        *("x y", "x:.1", "x\n", "-x", "x-", "a___b", "reg.io:port/x", "é", "x:" + "1" * 129, "a/" * 130 + "x"),
    ],
)
def test_name_of_an_image_that_no_registry_takes_is_refused(tmp_path: Path, image: str) -> None:
    with pytest.raises(UsageError, match="--image takes the name of an image"):
        release_of(price_desk(tmp_path), image=image)
