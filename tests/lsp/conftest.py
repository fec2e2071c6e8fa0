"""The example project in an editor: one of each module's own, and a fresh one for tests that change it."""

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


@pytest.fixture
def editor(project: Path) -> Iterator[Editor]:
    with editing(project) as running:
        yield running


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that has the example's workflow open, for tests that only ask."""
    root = tmp_path_factory.mktemp("example") / "desk"
    copy_example(root, port=8791)
    with editing(root) as running:
        running.open(root / "workflows" / "triage_ticket.yaml")
        yield running
