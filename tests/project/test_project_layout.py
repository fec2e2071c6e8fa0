"""Where a project begins, and which of its files are read."""

import os
from pathlib import Path

import pytest

from tuvl.project.layout import find_root, nested_projects, walk


def make(root: Path, *files: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kind: Workflow\n", encoding="utf-8")
    return root


def names(root: Path, paths: object) -> list[str]:
    return [path.relative_to(root).as_posix() for path in paths]  # type: ignore[attr-defined]


def test_nearest_project_file_upwards_makes_the_root(tmp_path: Path) -> None:
    make(tmp_path, "tuvl.yaml", "a/workflows/deep/x.yaml")
    assert find_root(tmp_path / "a/workflows/deep/x.yaml") == tmp_path


def test_project_file_wins_over_a_nearer_project_folder(tmp_path: Path) -> None:
    make(tmp_path, "tuvl.yaml", "a/nodes/n.py", "a/x.yaml")
    assert find_root(tmp_path / "a/x.yaml") == tmp_path


@pytest.mark.parametrize("folder", ["workflows", "artifacts", "llms", "models", "datasources", "nodes", "tests"])
def test_without_project_file_a_project_folder_makes_the_root(tmp_path: Path, folder: str) -> None:
    make(tmp_path, f"a/{folder}/x.yaml", "a/b/c/y.yaml")
    assert find_root(tmp_path / "a/b/c/y.yaml") == tmp_path / "a"


def test_file_without_a_project_is_alone_in_its_folder(tmp_path: Path) -> None:
    make(tmp_path, "a/x.yaml")
    assert find_root(tmp_path / "a/x.yaml") == tmp_path / "a"


def test_folder_is_its_own_start(tmp_path: Path) -> None:
    make(tmp_path, "a/tuvl.yaml", "tuvl.yaml")
    assert find_root(tmp_path / "a") == tmp_path / "a"


def test_home_is_no_project_because_of_a_folder_named_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "tests/x.yaml", "a/y.yaml")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_root(tmp_path / "a/y.yaml") == tmp_path / "a"


def test_walk_takes_yaml_anywhere_and_markdown_below_artifacts_in_a_fixed_order(tmp_path: Path) -> None:
    make(tmp_path, "b.yml", "a.YAML", "z/workflows/w.yaml", "artifacts/deep/p.md", "docs/readme.md", "c.json", "d.txt")
    assert names(tmp_path, walk(tmp_path)) == ["a.YAML", "b.yml", "artifacts/deep/p.md", "z/workflows/w.yaml"]


def test_walk_leaves_out_hidden_folders_environments_and_packages(tmp_path: Path) -> None:
    make(
        tmp_path,
        "x.yaml",
        ".git/x.yaml",
        ".hidden.yaml",
        "node_modules/x.yaml",
        "a/__pycache__/x.yaml",
        "env/pyvenv.cfg",
        "env/x.yaml",
        "conda/conda-meta/history",
        "conda/x.yaml",
    )
    assert names(tmp_path, walk(tmp_path)) == ["x.yaml"]


def test_walk_leaves_projects_below_to_themselves(tmp_path: Path) -> None:
    make(tmp_path, "tuvl.yaml", "x.yaml", "inner/tuvl.yaml", "inner/y.yaml")
    assert names(tmp_path, walk(tmp_path)) == ["tuvl.yaml", "x.yaml"]
    assert names(tmp_path, nested_projects(tmp_path)) == ["inner"]


def test_walk_ends_on_links_that_go_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "a/x.yaml")
    (tmp_path / "a/up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert names(tmp_path, walk(tmp_path)) == ["a/x.yaml"]


def test_walk_lists_a_link_that_leads_nowhere_so_that_reading_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert names(tmp_path, walk(tmp_path)) == ["gone.yaml"]


def test_walk_passes_over_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert list(walk(tmp_path)) == []


def test_folder_that_cannot_be_listed_is_told_and_the_walk_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "a/x.yaml")
    told: list[OSError] = []
    assert list(walk(tmp_path / "nowhere", on_error=told.append)) == []
    assert [error.filename for error in told] == [str(tmp_path / "nowhere")]
    with pytest.raises(FileNotFoundError):
        list(walk(tmp_path / "nowhere"))


def test_walk_leaves_out_what_a_release_wrote_and_takes_what_else_is_there(tmp_path: Path) -> None:
    files = ("compose.yaml", "kubernetes.yaml", "mine.yaml")
    make(tmp_path, *(f"{folder}/{name}" for folder in ("dist", "other") for name in files))
    (tmp_path / "dist" / "ship.json").write_text('{\n  "format": "tuvl-ship",\n', encoding="utf-8")
    (tmp_path / "other" / "ship.json").write_text('{ "speed": 20 }', encoding="utf-8")
    found = [name for name in names(tmp_path, walk(tmp_path)) if not name.endswith(".json")]
    assert found == ["dist/mine.yaml", *(f"other/{name}" for name in files)]
