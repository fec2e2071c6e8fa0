"""Where documents go: files are replaced whole, what is no file is written to."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.cli.cli_support import project, tuvl, write
from tuvl.cli.output import deliver


def test_a_pipe_named_as_output_gets_the_document_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    assert deliver("{}\n", str(pipe))
    reader.join(timeout=20)
    assert got == ["{}\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_named_as_output_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("old", encoding="utf-8")
    assert deliver("new", str(file))
    assert file.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [file]


SCENARIO = """\
kind: WorkflowTest
metadata: { name: greets }
spec:
  workflow: greet
  input: { name: Ann }
  expect: { status: completed }
"""

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")


@needs_full
@pytest.mark.parametrize(
    "words",
    [
        "run greet --set name=Ann --output /dev/full",
        "run greet --set name=Ann --record /dev/full",
        "run greet --set name=Ann --record /dev/full --events none",
        "run greet --set name=Ann --record /dev/full --events jsonl",
        "run greet --set name=Ann --dry-run --output /dev/full",
        "validate --output /dev/full --format json",
        "validate --output /dev/full",
        "bounds greet --output /dev/full",
        "graph greet --output /dev/full",
        "test --output /dev/full --format json",
        "schema Workflow --output /dev/full",
    ],
)
def test_output_that_cannot_be_written_is_exit_code_1(words: str, tmp_path: Path) -> None:
    """What cli.md says of every command: told on stderr, 1; 2 is for what is wrong before anything is done."""
    project(tmp_path)
    write(tmp_path, {"tests/greets.yaml": SCENARIO})
    done = tuvl(*words.split(), cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "cannot write" in done.stderr
    assert "no space left" in done.stderr.lower()


@pytest.mark.parametrize("record", ["out.json", "./out.json", "link.json"])
def test_two_outputs_of_a_run_that_are_one_file_are_refused_before_anything_runs(record: str, tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "link.json").symlink_to("out.json")
    words = ["run", "greet", "--set", "name=Ann", "--output", "out.json", "--record", record]
    done = tuvl(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tuvl run: --output and --record name one file, ")
    assert not (tmp_path / "out.json").exists()


def test_a_device_may_take_two_outputs(tmp_path: Path) -> None:
    project(tmp_path)
    words = ["run", "greet", "--set", "name=Ann", "--output", "/dev/null", "--record", "/dev/null"]
    assert tuvl(*words, cwd=tmp_path).returncode == 0
