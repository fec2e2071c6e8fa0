"""What every test run shares: the switch that makes a skipped test a failure, a folder of its own, and PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.durable.processes import Processes
    from tests.support.postgres import Server

# CI draws the same examples each time: a gate must not open and close by chance. Developers draw new ones. No
# example has a deadline, here or there, and none is drawn too slowly: how long one takes is the machine's affair.
settings.register_profile("developer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


SOAK_S = 3600
"""Longest time for one test of `make soak`, in seconds; that of others is in `pyproject.toml`."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: many tests wait for a process or a server that they have started."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return cores + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the examples of the pages, which take longest: at the end, all other processes would wait for them."""
    items.sort(key=lambda item: item.path.name != "test_docs.py")
    if os.environ.get("TUVL_SOAK"):
        for item in items:  # some of `make soak` take many minutes, and are no less sound for that
            item.add_marker(pytest.mark.timeout(SOAK_S))


@pytest.fixture(autouse=True, scope="session")
def no_reports_of_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep reports of `tuvl validate` apart from those of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def gates_of_this_test() -> None:
    """Let no test find a gate open that another one has opened."""
    if (gates := sys.modules.get("tests.support.gates")) is not None:  # most tests have none
        gates.forget()


@pytest.fixture(scope="session")
def meeting_place(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder that all processes of this test run know, and no other run does.

    Other runs leave it alone: pytest deletes old folders, but none whose run is still going on.
    """
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def postgres(meeting_place: Path) -> Iterator[Server]:
    """Run PostgreSQL, once for all processes of this test run.

    Ask for it by name and never import it: a fixture that a second `conftest.py` imports is set up a second time.
    """
    from tests.support.postgres import shared_server  # only where a test asks for it

    with shared_server(meeting_place) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """Make an empty PostgreSQL database for one test."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def run() -> Iterator[Processes]:
    """Have a place where commands run, each in a process of its own that has everything imported and may be killed."""
    from tests.durable.processes import processes  # only where a test asks for it

    with processes() as found:
        yield found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forbid-skips",
        action="store_true",
        help="fail the run when a test was skipped: CI has everything the tests need",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--forbid-skips") and skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--forbid-skips") and (reports := skipped(config)):
        terminalreporter.section("skipped tests are forbidden here", red=True)
        for report in reports:
            terminalreporter.line(report.nodeid)


def skipped(config: pytest.Config) -> list[pytest.TestReport]:
    # Under pytest-xdist only the controlling process has a terminal reporter, and it gets every worker's reports.
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [] if reporter is None else reporter.stats.get("skipped", [])
