"""Lets nobody without a token through to the API: before a body is read, and before anything is looked up."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tuvl.analysis.trigger_paths import is_of_api
from tuvl.server.routes.callers import CALLER, authenticated
from tuvl.server.services import Services

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Paths of the server that tell nothing of its runs."""


class Door:
    """Wraps the application, inside of the guard."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through; raises `Problem`."""
        with self._services.answering():
            if scope["type"] == "http" and scope["path"] not in OPEN and is_of_api(scope["path"]):
                scope[CALLER] = await authenticated(self._services, Request(scope))
            await self._app(scope, receive, send)
