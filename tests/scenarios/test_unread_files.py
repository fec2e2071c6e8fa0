"""A file of scenarios that cannot be read is no file without scenarios: `tuvl test` names it, and does not pass."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.cli_support import write
from tests.scenarios.scenario_support import REPLIES, STUBS, Command, project
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import walk
from tuvl.shipping.gates import test_gate as gate_of_tests

GOOD = REPLIES + STUBS + "  expect: { status: completed }\n"
MISSPELT = "kind: WorkflowTst\nmetadata: { name: lost }\nspec: { workflow: ticket }\n"


@pytest.fixture
def tuvl_test(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capfd)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"kind: WorkflowTest\nmetadata: [", "TV001 this '[' is never closed"),
        (b"kind: WorkflowTest\n\tmetadata: {}\n", "TV001 "),
        (b"\xff\xfe", "TV003 the file is UTF-16, not UTF-8"),
        (MISSPELT.encode(), "TV104 unknown document kind 'WorkflowTst' (did you mean 'WorkflowTest'?)"),
    ],
)
def test_file_that_hides_its_scenarios_is_broken_and_the_others_run(
    tuvl_test: Command, tmp_path: Path, raw: bytes, why: str
) -> None:
    project(tmp_path, good=GOOD)
    (tmp_path / "tests" / "cut.yaml").write_bytes(raw)
    told = tuvl_test()
    assert told.code == 1
    assert "BROKEN  tests/cut.yaml:" in told.out
    assert why in told.out
    assert told.err == "2 scenarios: 1 passed, 1 could not be run\n"
    assert tuvl_test("tests/cut.yaml").err == "1 scenario: 0 passed, 1 could not be run\n"
    assert tuvl_test("--select", "good").code == 0
    (tmp_path / "tests" / "good.yaml").unlink()
    assert tuvl_test().code == 1


def test_workflow_that_is_named_and_cannot_be_read_is_told(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD)
    write(tmp_path, {"workflows/ticket.yaml": "kind: Workflow\nspec: ["})
    told = tuvl_test("workflows/ticket.yaml")
    assert told.code == 1
    assert "BROKEN  workflows/ticket.yaml:2: <not read>\n" in told.out
    assert "TV001 this '[' is never closed" in told.out


def test_other_yaml_beside_scenarios_is_passed_over(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD)
    others = {"tests/prices.yaml": "a: 1\n", "tests/chart.yaml": "apiVersion: v1\nkind: Pod\nspec: {{ broken\n"}
    write(
        tmp_path,
        {**others, "deploy.yaml": "x: [", "tests/off.yaml": MISSPELT.replace("Tst", "Test") + "enabled: false\n"},
    )
    assert tuvl_test().err == "1 scenario: 1 passed\n"


def test_release_stops_at_a_file_of_scenarios_that_cannot_be_read(tuvl_test: Command, tmp_path: Path) -> None:
    write(project(tmp_path, good=GOOD), {"tests/cut.yaml": "kind: WorkflowTest\nmetadata: ["})
    gate = gate_of_tests(ProjectIndex(tmp_path), environ={}, strict=False)
    assert (gate.verdict, gate.said) == ("failed", "1 of 2 scenarios passed")


@pytest.mark.parametrize("text", [MISSPELT, MISSPELT.replace("Tst", "Test") + "  input: ["])
def test_scenario_beside_its_workflow_is_not_passed_over_either(tuvl_test: Command, tmp_path: Path, text: str) -> None:
    write(project(tmp_path, good=GOOD), {"workflows/ticket_test.yaml": text})
    assert tuvl_test().err == "2 scenarios: 1 passed, 1 could not be run\n"
    told = tuvl_test("workflows/ticket.yaml")
    assert (told.code, told.err) == (1, "2 scenarios: 1 passed, 1 could not be run\n")
    other = text.replace("workflow: ticket", "workflow: another")
    write(tmp_path, {"workflows/ticket_test.yaml": other})
    assert tuvl_test("workflows/ticket.yaml").code == 0


def test_scenario_that_is_selected_and_cannot_be_seen_is_sought_in_the_file_that_hides_it(
    tuvl_test: Command, tmp_path: Path
) -> None:
    write(project(tmp_path, good=GOOD), {"tests/cut.yaml": MISSPELT})
    told = tuvl_test("--select", "lost")
    assert told.code == 2
    assert "'tests/cut.yaml' has a mistake that may hide it; mend that file first" in told.err


def test_what_cannot_be_read_at_all_is_an_unreadable_file_and_not_a_failure(
    tuvl_test: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = project(tmp_path, good=GOOD) / "gone.yaml"
    gone.symlink_to("nowhere.yaml")
    told = tuvl_test()
    assert told.code == 2
    assert "BROKEN  gone.yaml:1: <not read>\n    gone.yaml:1:1: cannot read 'gone.yaml': no such file" in told.out
    assert told.err == "2 scenarios: 1 passed, 1 could not be run\n"
    assert tuvl_test("tests").code == 0
    gone.unlink()

    def unlisted(root: Path, *, prose: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
        on_error(PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "locked")))
        yield from walk(root, prose=prose, on_error=on_error)

    monkeypatch.setattr("tuvl.project.index.walk", unlisted)
    told = tuvl_test()
    assert told.code == 2
    assert told.err == "1 scenario: 1 passed\ntuvl test: cannot read 'locked': permission denied\n"
