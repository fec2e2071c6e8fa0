"""What tests of records share."""

from collections.abc import Iterator

import pytest

from tests.durable.durable_project import Counting, counting


@pytest.fixture
def server() -> Iterator[tuple[int, type[Counting]]]:
    """Serve on a port, and count what is asked for."""
    with counting() as (port, counted):
        yield port, counted
