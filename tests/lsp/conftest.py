"""The example project in an editor. One server serves the tests of a module; each test has files of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.example.project import copy_example
from tests.support.editor import Editor, editing


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "desk"
    copy_example(root, port=8791)
    return root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """A running server with the example as its workspace, and the example's workflow open in it."""
    root = tmp_path_factory.mktemp("workspace") / "desk"
    copy_example(root, port=8791)
    with editing(root) as running:
        running.open(root / "workflows" / "triage_ticket.yaml")
        yield running


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    """The server, for tests that open files of their own; they are closed afterwards."""
    before = set(server.versions)
    yield server
    for path in set(server.versions) - before:
        server.close(path)


@pytest.fixture
def desk(server: Editor) -> Path:
    """The example's workflow, open; for tests that only ask about it."""
    return server.root / "workflows" / "triage_ticket.yaml"
