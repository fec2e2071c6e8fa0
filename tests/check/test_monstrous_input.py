"""Files and folders that no honest author makes get an answer, in a time that grows with them and no faster.

Nothing here measures time: the limit of a test is its own. `make bench` measures.
"""

import os
import socket
import sys
from pathlib import Path

import pytest

from benchmarks.monsters import MONSTERS
from tests.check.project_files import said, workflow, write
from tuvl.check.runner import check_paths
from tuvl.project import layout

SHARE = 0.2
EXPECTED = {
    "steps in a row": set(),
    "steps in one circle": {"TV304"},
    "1 MB of template": set(),
    "schemas that mean each other": set(),
    "levels of a schema": {"TV003"},
    "values of an enum": set(),
    "aliases that double": {"TV003"},
    "5 MB of text": set(),
    "documents": {"TV107"},
    "broken documents": {"TV001"},
    "unknown fields": {"TV101"},
}
"""What must be said of some of them, among other things."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MONSTERS)
def test_monstrous_file_gets_its_findings(tmp_path: Path, name: str) -> None:
    text_of, size = MONSTERS[name]
    write(tmp_path, {"tuvl.yaml": "kind: ProjectConfig\n", "monster.yaml": text_of(int(size * SHARE))})
    report = check_paths([tmp_path / "monster.yaml"])
    codes = {finding.code for finding in report.findings}
    assert "TV999" not in codes
    assert EXPECTED.get(name, set()) <= codes
    if EXPECTED.get(name) == set():
        assert report.errors == 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(
        tmp_path / "around" / "project", {"tuvl.yaml": "kind: ProjectConfig\n", "workflows/greet.yaml": workflow()}
    )


def test_link_to_a_folder_around_the_project_is_no_way_out_of_it(project: Path) -> None:
    write(project.parent, {"beside/other.yaml": "kind: Workflow\n"})
    (project / "workflows" / "up").symlink_to(Path("..", "..", ".."))
    (project / "workflows" / "root").symlink_to("/")
    report = check_paths([project])
    assert said(report) == []
    assert report.files == 2


def test_link_to_a_folder_beside_the_project_is_followed(project: Path) -> None:
    write(project.parent, {"beside/other.yaml": workflow("other")})
    (project / "more").symlink_to(Path("..", "beside"))
    assert check_paths([project]).files == 3


def test_links_that_lead_to_more_folders_than_any_project_has_are_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "MOST_BEHIND_LINKS", 5)
    for number in range(10):
        (project.parent / "beside" / f"f{number}").mkdir(parents=True)
    (project / "more").symlink_to(Path("..", "beside"))
    report = check_paths([project])
    assert report.broken
    assert "links lead to more than 5 folders" in report.unreadable[0]


def test_links_in_circles_end(project: Path) -> None:
    folder = project / "workflows"
    (folder / "here").symlink_to(".")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    (folder / "self.yaml").symlink_to("self.yaml")
    report = check_paths([project])
    assert said(report) == []
    assert [message.rpartition(":")[2] for message in report.unreadable] == [" too many levels of symbolic links"]


@pytest.mark.skipif(sys.platform == "win32", reason="has none of them")
def test_pipes_sockets_and_devices_are_not_waited_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    os.mkfifo("pipe.yaml")
    os.mkfifo("pyproject.toml")
    (project / "nodes").mkdir()
    os.mkfifo("nodes/pipe.py")
    Path("nodes/zero.py").symlink_to("/dev/zero")
    Path("zero.yaml").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.yaml")
        report = check_paths([])
    assert said(report) == ["pyproject.toml:1 TV218"]
    assert [message.split("'")[1] for message in report.unreadable] == ["nodes/pipe.py", "nodes/zero.py"]


def test_folders_deeper_than_any_path_may_be_are_told(project: Path) -> None:
    here = os.open(project, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("deeper_still", dir_fd=here)
        inner = os.open("deeper_still", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    report = check_paths([project])
    assert report.files == 2
    assert report.unreadable[0].endswith("file name too long")


def test_folder_of_tens_of_thousands_of_files_is_gone_through(project: Path) -> None:
    (project / "data").mkdir()
    for number in range(20_000):
        (project / "data" / f"{number}.csv").touch()
    report = check_paths([project])
    assert said(report) == []
    assert report.files == 2


def test_thousands_of_names_that_are_called_are_found(project: Path) -> None:
    step = "    - {{ id: more, kind: Workflow, workflow: flow_{} }}\n"
    write(
        project,
        {f"workflows/f{n}.yaml": workflow(f"flow_{n}") + step.format(n + 1) for n in range(300)}
        | {"workflows/last.yaml": workflow("flow_300")},
    )
    assert check_paths([project], select=["TV2"]).findings == ()
