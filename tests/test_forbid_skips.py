"""The switch that CI runs the tests with: a skipped test is a failed run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
ONE_OF_EACH = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="not today")
def test_sleeps(): pass
"""


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_it.py").write_text(ONE_OF_EACH, encoding="utf-8")
    # With a folder of its own: else pytest, on its way out, deletes what it kept of the runs before this one.
    kept = ["--basetemp", str(folder / "kept"), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), *kept, *flags, "test_it.py"]
    # Of all plugins that are installed the switch needs one, and each takes its time to be imported.
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("flags", [(), ("-n", "2")], ids=["one process", "several processes"])
def test_skipped_test_fails_the_run_where_skips_are_forbidden(tmp_path: Path, flags: tuple[str, ...]) -> None:
    answer = run(tmp_path, "--forbid-skips", *flags)
    assert answer.returncode == 1
    assert "test_it.py::test_sleeps" in answer.stdout


def test_skipped_test_passes_elsewhere(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 0
