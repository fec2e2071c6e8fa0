"""What every test run shares: the switch that makes a skipped test a failure."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# CI draws the same examples each time: a gate must not open and close by chance. Developers draw new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def no_reports_of_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep reports of `tuvl validate` apart from those of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


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
