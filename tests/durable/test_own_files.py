"""What is kept of runs can be read only by its owner, from the moment that it is there."""

import os
import stat

import pytest

from tests.durable.processes import processes
from tests.durable.test_crash_matrix import run_of
from tests.durable.test_kills import project

STEPS = "  steps:\n    - { id: a, kind: Functional, runner: set, values: { found: 1 } }\n"


@pytest.fixture(scope="module")
def run():
    before = os.umask(0o022)  # of most people
    try:
        with processes() as found:
            yield found
    finally:
        os.umask(before)


def modes(folder):
    """Return what others may do to `.tuvl` and to all in it."""
    own = folder / ".tuvl"
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (own, *own.rglob("*"))}


def run_it(folder, run, *more):
    return run.tuvl("run", "w", "--durable", "--set", "origin=1", *more, cwd=folder)


def test_the_store_of_runs_and_its_folder_are_for_their_owner_alone(tmp_path, run):
    project(tmp_path, STEPS)
    assert run_it(tmp_path, run).code == 0
    found = modes(tmp_path)
    assert {".tuvl/runs.db", ".tuvl"} <= found.keys()
    assert found[".tuvl"] == found[".tuvl/runs.db"] == found[".tuvl/runs"] == 0


def test_what_an_earlier_version_left_open_is_closed(tmp_path, run):
    project(tmp_path, STEPS)
    assert run_it(tmp_path, run).code == 0
    (tmp_path / ".tuvl").chmod(0o755)
    (tmp_path / ".tuvl" / "runs.db").chmod(0o644)
    assert run.tuvl("runs", "show", run_of(tmp_path), cwd=tmp_path).code == 0
    found = modes(tmp_path)
    assert (found[".tuvl"], found[".tuvl/runs.db"]) == (0, 0)
