"""A project can carry links: no command writes through one that leads out of it, nor over a file that is not its own.

What the links lead to lies in the test's own folder, never among the files of the system.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.check.project_files import write
from tuvl.__main__ import main
from tuvl.data.location import own_file
from tuvl.errors import ConfigError
from tuvl.files import LinkedAwayError, real_target, write_whole

GREET = """\
kind: Workflow
metadata: { name: greet, description: Greet. }
spec:
  input: { type: object, properties: { name: { type: string } } }
  steps:
    - { id: hello, kind: Functional, runner: set, values: { text: "Hello {{ name }}" } }
"""
MISSPELT = GREET.replace("runner:", "runnr:")
SCENARIO = """\
kind: WorkflowTest
metadata: { name: greets }
spec: { workflow: greet, input: { name: Ann }, expect: { status: completed } }
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project without any mark but its folders, beside a file that is none of its business."""
    write(tmp_path, {"outside/precious": "PRECIOUS\n"})
    shop = write(tmp_path / "shop", {"workflows/greet.yaml": GREET, "tests/greets.yaml": SCENARIO})
    monkeypatch.chdir(shop)
    return shop


def precious(shop: Path) -> bool:
    outside = shop.parent / "outside"
    return os.listdir(outside) == ["precious"] and (outside / "precious").read_text(encoding="utf-8") == "PRECIOUS\n"


@pytest.mark.parametrize("target", ["../outside/precious", "../outside/new"])
def test_lock_that_is_a_link_out_of_the_project_is_not_written_through(target: str, shop: Path, capfd) -> None:
    (shop / "tuvl.lock").symlink_to(target)
    assert main(["lock"]) == 2
    assert "cannot write 'tuvl.lock': a link leads it out of the project" in capfd.readouterr().err
    assert precious(shop)


def test_file_that_is_no_lock_is_not_written_over_by_one(shop: Path, capfd) -> None:
    (shop / "tuvl.lock").write_text("my notes\n", encoding="utf-8")
    assert main(["lock"]) == 2
    assert "'tuvl.lock' is no lock, so it is not written over; move it away" in capfd.readouterr().err
    assert (shop / "tuvl.lock").read_text(encoding="utf-8") == "my notes\n"


def test_lock_that_is_damaged_is_written_over(shop: Path) -> None:
    assert main(["lock"]) == 0
    whole = (shop / "tuvl.lock").read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"<<<<<<< ours\n" + whole, b"lock_version: 1\n"):
        (shop / "tuvl.lock").write_bytes(damaged)
        assert main(["lock"]) == 0
        assert (shop / "tuvl.lock").read_bytes() == whole


def test_lock_may_be_a_link_inside_the_project(shop: Path) -> None:
    (shop / "tuvl.lock").symlink_to("locked.yaml.lock")
    assert main(["lock"]) == 0
    assert (shop / "tuvl.lock").is_symlink()
    assert (shop / "locked.yaml.lock").is_file()


@pytest.mark.parametrize("link", ["workflows/greet.yaml", "workflows"])
def test_mending_does_not_write_through_a_link_out_of_the_project(link: str, shop: Path, capfd) -> None:
    there = write(shop.parent / "elsewhere", {"greet.yaml": MISSPELT})
    (shop / "workflows" / "greet.yaml").unlink()
    if link == "workflows":
        (shop / "workflows").rmdir()
    (shop / link).symlink_to(there / "greet.yaml" if link.endswith(".yaml") else there)
    assert main(["validate", "--fix"]) == 2
    assert "a link leads it out of the project); it is not mended" in capfd.readouterr().err
    assert (there / "greet.yaml").read_text(encoding="utf-8") == MISSPELT


COMMANDS = {
    "validate": "validate --output out",
    "validate sarif": "validate --format sarif --output out",
    "bounds": "bounds greet --output out",
    "graph": "graph greet --output out",
    "test": "test --output out",
    "schema": "schema Workflow --output out",
    "diff": "diff . . --output out",
    "run": "run greet --set name=Ann --output out",
    "record": "run greet --set name=Ann --record out",
    "ship": "ship --no-build --output out",
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=list(COMMANDS))
@pytest.mark.parametrize("mark", ["tuvl.yaml", ".git", None])
def test_output_is_not_written_through_a_link_out_of_the_project(
    words: str, mark: str | None, shop: Path, capfd
) -> None:
    if mark == ".git":
        (shop / mark).mkdir()
    elif mark is not None:
        (shop / mark).write_text("kind: ProjectConfig\nmetadata: { name: shop }\n", encoding="utf-8")
    (shop / "out").symlink_to("../outside" if words.startswith("ship") else "../outside/precious")
    assert main(words.split()) in (1, 2)
    assert "a link leads it out of the project" in capfd.readouterr().err
    assert precious(shop)


def test_release_is_not_written_through_a_folder_that_leads_out_of_the_project(shop: Path, capfd) -> None:
    assert main(["lock"]) == 0
    (shop / "dist").symlink_to("../outside")
    assert main(["ship", "--no-build"]) == 2
    assert "a link leads it out of the project" in capfd.readouterr().err
    assert precious(shop)


def test_new_project_is_not_laid_down_through_a_link(tmp_path: Path, capfd) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "workflows").symlink_to("../outside")
    assert main(["init", str(tmp_path / "new")]) == 2
    assert "a link leads it out of the project" in capfd.readouterr().err
    assert os.listdir(tmp_path / "outside") == []
    assert os.listdir(tmp_path / "new") == ["workflows"]


def test_own_files_of_runs_stay_in_the_project(shop: Path) -> None:
    (shop / ".tuvl").symlink_to("../outside")
    with pytest.raises(ConfigError, match="a link leads it out of the project"):
        own_file(str(shop), "data.db")
    assert precious(shop)


@pytest.mark.parametrize("name", ["out.json", "inner/out.json"])
def test_link_that_stays_inside_is_followed(name: str, shop: Path) -> None:
    (shop / "inner").mkdir()
    (shop / "link.json").symlink_to(name)
    write_whole(shop / "link.json", "new", within=shop)
    assert (shop / name).read_text(encoding="utf-8") == "new"
    assert (shop / "link.json").is_symlink()


def _relative(shop: Path) -> str:
    return "../outside/precious"


def _chained(shop: Path) -> str:
    (shop / "second").symlink_to("../outside/precious")
    return "second"


def _folder(shop: Path) -> str:
    (shop / "folder").symlink_to("../outside")
    return "folder/precious"


@pytest.mark.parametrize("target", [_relative, _chained, _folder, lambda shop: str(shop.parent / "outside/precious")])
def test_link_that_leads_out_is_refused_however_it_is_written(target: Callable[[Path], str], shop: Path) -> None:
    (shop / "link").symlink_to(target(shop))
    with pytest.raises(LinkedAwayError):
        write_whole(shop / "link", "new", within=shop)
    with pytest.raises(LinkedAwayError):
        real_target(shop / "link")
    assert precious(shop)


def test_project_may_itself_be_reached_by_a_link(shop: Path) -> None:
    (shop.parent / "other-name").symlink_to("shop")
    write_whole(shop.parent / "other-name" / "out.txt", "new", within=shop.parent / "other-name")
    assert (shop / "out.txt").read_text(encoding="utf-8") == "new"
