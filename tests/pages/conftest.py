"""One browser for all tests of pages in a process, and one server for those of a file."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.pages.pages_support import desk
from tests.server.server_support import Serving, serving
from tests.support.browser import browsing


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Serving]:
    async with serving(desk(tmp_path_factory.mktemp("desk")), durable=True) as found:
        yield found


@pytest.fixture
def gate(request: pytest.FixtureRequest) -> str:
    """The name of the gates of one test's run."""
    return request.node.name
