"""`tuvl ship`: what stops it, what it writes, and what it never writes over."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.cli.cli_support import result, tuvl, write
from tests.example.project import copy_example, open_shop
from tests.shipping.shipping_support import NEEDED, SCENARIO, price_desk, release_of
from tuvl.__main__ import main

WRITTEN = [
    ".dockerignore",
    "Dockerfile",
    "compose.yaml",
    "constraints.txt",
    "kubernetes.yaml",
    "price-desk-1.4.0.tuvl",
    "provenance.intoto.json",
    "requirements.txt",
    "sbom.cdx.json",
    "ship.json",
]

LIVE = """\
kind: AgentModel
metadata: { name: careful }
spec:
  provider: openai_compatible
  model: small-2026-01-01
  api_base: https://models.example.com
  api_key: "${MODEL_KEY}"
  max_tokens: 200
  price: { input_per_mtok: 1, output_per_mtok: 2 }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return price_desk(tmp_path / "desk")


class Ship(Protocol):
    """Ships a project from its folder, in this process: the same words, streams and code as in one of its own."""

    def __call__(
        self, desk: Path, *words: str, build: bool = False, path: Path | None = None
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def ship(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ship:
    def run(desk: Path, *words: str, build: bool = False, path: Path | None = None) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(desk)
        # The repository that the tests are part of is not the project's.
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(desk.parent))
        if path is not None:
            monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
        capfd.readouterr()
        code = main(["ship", *([] if build else ["--no-build"]), *words])
        told = capfd.readouterr()
        return subprocess.CompletedProcess(words, code, told.out, told.err)

    return run


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_path_and_digest_are_the_data_and_all_else_is_told_to_people(ship: Ship, desk: Path) -> None:
    done = ship(desk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["dist/price-desk-1.4.0.tuvl", release_of(desk).bundle.digest]
    assert "test: 1 passed" in done.stderr
    assert "9 files written to dist" in done.stderr
    assert listed(desk / "dist") == WRITTEN


def test_document_for_programs_is_the_record_that_is_kept(ship: Ship, desk: Path) -> None:
    document = result(ship(desk, "--format", "json"))
    assert document == json.loads((desk / "dist" / "ship.json").read_text())
    assert document["digest"] == release_of(desk).bundle.digest
    assert [(one["name"], one["result"]) for one in document["checks"]] == [
        ("validate", "passed"),
        ("test", "passed"),
        ("lock", "warned"),
    ]
    assert [one["path"] for one in document["files"]] == [name for name in WRITTEN if name != "ship.json"]


def test_second_time_gives_the_same_files_and_the_checks_do_not_stumble_over_them(ship: Ship, desk: Path) -> None:
    ship(desk)
    first = bytes_of(desk / "dist")
    assert ship(desk).returncode == 0
    assert bytes_of(desk / "dist") == first


def test_same_project_elsewhere_under_another_umask_gives_the_same_files(
    ship: Ship, desk: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "other" / "place", dict(reversed([*NEEDED.items(), ("tests/price.yaml", SCENARIO)])))
    ship(desk)
    before = os.umask(0o077)
    try:
        assert ship(other).returncode == 0
    finally:
        os.umask(before)
    # What is left out of a bundle is looked at by the checks, and counted.
    same = {name for name in WRITTEN if name not in ("provenance.intoto.json", "ship.json")}
    first, second = bytes_of(desk / "dist"), bytes_of(other / "dist")
    assert {name: first[name] for name in same} == {name: second[name] for name in same}
    modes = {name: (other / "dist" / name).stat().st_mode & 0o777 for name in WRITTEN if name != "ship.json"}
    assert modes == dict.fromkeys(modes, 0o644)


# ---- the gates -------------------------------------------------------------------------------------------------------


def test_error_stops_it_before_anything_is_run_or_written(ship: Ship, desk: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    write(desk, {"nodes/helpers.py": f"SUM = sum\nopen({str(proof)!r}, 'w')\n"})
    write(desk, {"workflows/ask.yaml": NEEDED["workflows/ask.yaml"].replace("default: END", "default: nowhere")})
    done = ship(desk)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "TV201 error" in done.stderr
    assert "nothing is shipped" in done.stderr
    assert not (desk / "dist").exists()
    assert not proof.exists()


def test_failing_scenario_stops_it_and_is_shown(ship: Ship, desk: Path) -> None:
    write(desk, {"tests/price.yaml": SCENARIO.replace("output: 6", "output: 7")})
    done = ship(desk)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "FAILED  tests/price.yaml:2: three_items (price_order)" in done.stderr
    assert "test: 0 of 1 scenarios passed" in done.stderr
    assert not (desk / "dist").exists()


def test_no_scenario_warns_and_stops_a_strict_release(ship: Ship, desk: Path) -> None:
    (desk / "tests" / "price.yaml").unlink()
    done = ship(desk)
    assert done.returncode == 0
    assert "test: there is no scenario" in done.stderr
    strict = ship(desk, "--strict")
    assert strict.returncode == 1
    assert strict.stdout == ""


def test_missing_lock_warns_and_stops_a_strict_release(ship: Ship, desk: Path) -> None:
    assert "TV803 warning" in ship(desk).stderr
    strict = ship(desk, "--strict")
    assert strict.returncode == 1
    assert "TV803 error" in strict.stderr


def test_drift_is_told_in_words_and_stops_a_strict_release(ship: Ship, desk: Path) -> None:
    assert main(["lock", "--project", str(desk)]) == 0
    write(desk, {"artifacts/daily.md": NEEDED["artifacts/daily.md"].replace("what day", "which day")})
    done = ship(desk)
    assert done.returncode == 0
    assert "TV803 warning: prompt `daily@1` changed" in done.stderr
    assert ship(desk, "--strict").returncode == 1


def test_broken_lock_stops_every_release(ship: Ship, desk: Path) -> None:
    write(desk, {"tuvl.lock": "lock_version: 1\n"})
    done = ship(desk)
    assert done.returncode == 1
    assert "TV803 error" in done.stderr
    assert not (desk / "dist").exists()


def strict_desk(folder: Path) -> Path:
    """A project that even a strict release lets pass."""
    files = {name: text for name, text in NEEDED.items() if not name.startswith("llms/")}
    config = "kind: ProjectConfig\nmetadata: { name: price-desk, version: 1.4.0 }\n"
    write(folder, {**files, "tuvl.yaml": config, "llms/careful.yaml": LIVE})
    write(folder, {"tests/price.yaml": SCENARIO})
    assert main(["lock", "--project", str(folder)]) == 0
    return folder


def test_strict_release_passes_where_nothing_is_left_to_say(ship: Ship, tmp_path: Path) -> None:
    desk = strict_desk(tmp_path / "strict")
    done = ship(desk, "--strict")
    assert done.returncode == 0, done.stderr
    assert [one["result"] for one in json.loads((desk / "dist" / "ship.json").read_text())["checks"]] == ["passed"] * 3
    # The lock goes along.
    assert b"project/tuvl.lock" in (desk / "dist" / "price-desk-1.4.0.tuvl").read_bytes()


def test_floating_name_is_an_error_of_a_strict_release(ship: Ship, tmp_path: Path) -> None:
    desk = strict_desk(tmp_path / "strict")
    write(desk, {"workflows/ask.yaml": (desk / "workflows" / "ask.yaml").read_text().replace("daily@1", "daily")})
    assert main(["lock", "--project", str(desk)]) == 0
    done = ship(desk, "--strict")
    assert done.returncode == 1
    assert "TV801 error" in done.stderr


def test_secret_in_the_text_stops_every_release_whatever_the_project_makes_of_it(ship: Ship, desk: Path) -> None:
    key = "sk-" + "Zq7Rt2Lm9Xw4Kp8Vn3Yb6Hd1" * 2
    config = f"{NEEDED['tuvl.yaml'].rstrip()}\n".replace("spec: {", "spec: { checks: { severity: { TV701: note } },")
    write(desk, {"tuvl.yaml": config, "artifacts/daily.md": f"{NEEDED['artifacts/daily.md']}{key}\n"})
    done = ship(desk)
    assert done.returncode == 1
    assert "a secret stands in a file, so nothing is shipped" in done.stderr
    assert key not in done.stderr + done.stdout


def test_secret_in_a_node_stops_it(ship: Ship, desk: Path) -> None:
    key = "sk-" + "Zq7Rt2Lm9Xw4Kp8Vn3Yb6Hd1" * 2
    write(desk, {"nodes/helpers.py": f'SUM = sum\nKEY = "{key}"\n'})
    done = ship(desk)
    assert done.returncode == 1
    assert "nodes/helpers.py:2: the text holds" in done.stderr
    assert key not in done.stderr


def test_what_the_image_will_not_have_stops_a_strict_release(ship: Ship, tmp_path: Path) -> None:
    desk = strict_desk(tmp_path / "strict")
    write(desk, {"nodes/helpers.py": "try:\n    import nonesuch\nexcept ImportError:\n    pass\nSUM = sum\n"})
    assert main(["lock", "--project", str(desk)]) == 0
    assert "nodes import nonesuch" in ship(desk).stderr
    strict = ship(desk, "--strict")
    assert strict.returncode == 1
    assert strict.stdout == ""


# ---- what is written over --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "ship.json", "price-desk-1.4.0.tuvl"])
def test_file_of_somebody_else_is_not_written_over(ship: Ship, desk: Path, name: str) -> None:
    write(desk, {f"out/{name}": "# mine\n"})
    done = ship(desk, "--output", "out")
    assert done.returncode == 2
    assert f"'out/{name}' is not of `tuvl ship`, so nothing is written" in done.stderr
    assert bytes_of(desk / "out") == {name: b"# mine\n"}


def test_file_that_was_changed_is_not_written_over(ship: Ship, desk: Path) -> None:
    assert ship(desk).returncode == 0
    with (desk / "dist" / "Dockerfile").open("a") as stream:
        stream.write("RUN true\n")
    write(desk, {"nodes/helpers.py": "SUM = sum  # of all\n"})
    before = bytes_of(desk / "dist")
    done = ship(desk)
    assert done.returncode == 2
    assert "was changed since `tuvl ship` wrote it" in done.stderr
    assert bytes_of(desk / "dist") == before


def test_link_in_the_folder_is_not_followed(ship: Ship, desk: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine\n")
    (desk / "dist").mkdir()
    (desk / "dist" / "Dockerfile").symlink_to(target)
    assert ship(desk).returncode == 2
    assert target.read_text() == "mine\n"


def test_files_beside_it_stay(ship: Ship, desk: Path) -> None:
    write(desk, {"dist/wheel.whl": "x"})
    assert ship(desk).returncode == 0
    assert (desk / "dist" / "wheel.whl").read_text() == "x"


def test_release_after_a_change_takes_the_place_of_the_last_one(ship: Ship, desk: Path) -> None:
    ship(desk)
    write(desk, {"nodes/helpers.py": "SUM = sum  # of all\n"})
    assert ship(desk).returncode == 0
    raw = (desk / "dist" / "price-desk-1.4.0.tuvl").read_bytes()
    assert raw == release_of(desk).bundle.raw
    assert not [name for name in listed(desk / "dist") if name.endswith(".part")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--output", "tuvl.yaml"), "--output names 'tuvl.yaml', which is no folder"),
        (("--output", "tuvl.yaml/x"), "'tuvl.yaml' is no folder"),
        (("--project", "nowhere"), "--project names 'nowhere', which is no folder"),
        (("--include", "nowhere"), "--include names 'nowhere', which is not in the project"),
        (("--include", ".env"), "may hold secrets"),
        (("--image", "Not An Image"), "--image takes the name of an image"),
        (("--format", "yaml"), "--format does not take 'yaml'"),
        (("extra",), "extra"),
    ],
)
def test_misuse_is_told_and_nothing_is_written(ship: Ship, desk: Path, words: tuple[str, ...], message: str) -> None:
    done = ship(desk, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not (desk / "dist").exists()


def test_folder_without_a_project_has_nothing_to_ship(ship: Ship, tmp_path: Path) -> None:
    done = ship(tmp_path)
    assert done.returncode == 1
    assert "TV009" in done.stderr
    assert "Traceback" not in done.stderr


# ---- where it comes from ---------------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def repository(desk: Path) -> dict[str, Any]:
    statement = json.loads((desk / "dist" / "provenance.intoto.json").read_text())
    first: dict[str, Any] = statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]
    return first


def test_commit_is_named_and_what_differs_from_it(ship: Ship, desk: Path) -> None:
    git(desk, "init", "-q")
    write(desk, {".gitignore": "dist/\n.env\n.tuvl/\nartifacts/daily.md\n"})
    git(desk, "add", "-A")
    git(desk, "commit", "-q", "-m", "first")
    (desk / "artifacts" / "daily.md").touch()
    assert ship(desk).returncode == 0
    commit = git(desk, "rev-parse", "HEAD")
    # What is ignored is in no commit, whatever `git status` says.
    assert repository(desk)["digest"] == {"gitCommit": commit}
    assert repository(desk)["annotations"] == {"dirty": True, "changed": ["artifacts/daily.md"]}
    git(desk, "add", "-f", "artifacts/daily.md")
    git(desk, "commit", "-q", "-m", "second")
    write(desk, {"README.md": "# changed, and not shipped\n"})
    assert ship(desk).returncode == 0
    assert repository(desk)["annotations"] == {"dirty": False, "changed": []}


def test_outside_of_a_repository_there_is_no_commit(ship: Ship, desk: Path) -> None:
    assert ship(desk).returncode == 0
    assert "gitCommit" not in (desk / "dist" / "provenance.intoto.json").read_text()


# ---- the image -------------------------------------------------------------------------------------------------------


def with_docker(folder: Path, script: str) -> Path:
    """Return a folder of programs in which `docker` is a script."""
    path = write(folder, {"bin/docker": f"#!/bin/sh\n{script}\n"}) / "bin" / "docker"
    path.chmod(0o755)
    return path.parent


ANSWERS = 'case "$1" in version) echo 28.0.0;; '


def test_without_an_engine_the_files_are_there_and_it_says_how_to_go_on(ship: Ship, desk: Path, tmp_path: Path) -> None:
    done = ship(desk, build=True, path=with_docker(tmp_path, "echo 'no daemon' >&2; exit 1"))
    assert done.returncode == 1
    by_hand = "run `docker build --tag price-desk:1.4.0 dist` where one is, or ship with --no-build"
    assert f"no Docker engine answers, so no image was built; {by_hand}" in done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert listed(desk / "dist") == WRITTEN


def test_engine_builds_the_image_that_is_named(ship: Ship, desk: Path, tmp_path: Path) -> None:
    script = f'{ANSWERS} build) echo "$@"; ls "$4"/Dockerfile;; esac'
    image = "registry.example.com/prices:1.4.0"
    done = ship(desk, "--image", image, build=True, path=with_docker(tmp_path, script))
    assert done.returncode == 0, done.stderr
    assert f"build --tag {image} " in done.stderr
    assert f"built the image {image}" in done.stderr
    # What Docker says is no data.
    assert len(done.stdout.splitlines()) == 2
    assert f"image: {image}" in (desk / "dist" / "kubernetes.yaml").read_text()


def test_build_that_fails_is_a_failure(ship: Ship, desk: Path, tmp_path: Path) -> None:
    done = ship(desk, build=True, path=with_docker(tmp_path, f"{ANSWERS} build) exit 3;; esac"))
    assert done.returncode == 1
    assert "the image was not built; the files are there" in done.stderr


def test_no_build_asks_no_engine(ship: Ship, desk: Path, tmp_path: Path) -> None:
    done = ship(desk, path=with_docker(tmp_path, f"touch {tmp_path}/asked"))
    assert done.returncode == 0
    assert not (tmp_path / "asked").exists()


# ---- the example -----------------------------------------------------------------------------------------------------


def test_example_is_shipped_and_its_bundle_gives_the_result_of_the_demo(tmp_path: Path) -> None:
    with open_shop() as shop:
        copy_example(tmp_path / "example", port=shop.port)
        done = tuvl("ship", "--no-build", cwd=tmp_path / "example")
        assert done.returncode == 0, done.stderr
        bundle = tmp_path / "example" / done.stdout.splitlines()[0]
        ticket = tmp_path / "example" / "demo" / "inputs" / "resolved.json"
        run = tuvl("run", str(bundle), "--input", str(ticket), "--events", "none", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert result(run)["output"]["handled_by"] == "assistant"
    assert "refunded 45.00" in result(run)["output"]["reply"]
    assert [step["id"] for step in result(run)["steps"]][-3:] == ["write_reply", "answered", "respond"]
