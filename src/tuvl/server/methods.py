"""What methods a path takes: `Allow`, and HEAD, which is GET without its body wherever the server itself answers."""

import asyncio
from collections.abc import Iterable, Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuvl.analysis.trigger_paths import is_of_server
from tuvl.server.problems import Problem

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""Methods that start runs, read them or change something."""

ASKING = ("HEAD", "OPTIONS")
"""Methods that ask about a path; neither starts anything."""

REFUSED = ("TRACE", "QUERY")
"""Methods of HTTP that servers know, and no path here takes."""

_KNOWN = frozenset((*METHODS, *ASKING, *REFUSED))


class Methods:
    """Wraps the application, inside of the door."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever its method; raises `Problem` for one that nobody knows."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        if method not in _KNOWN:
            raise Problem(501, "unknown-method", "the server knows no such method")
        if method == "HEAD" and is_of_server(scope["path"]):
            await self._head(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as to GET, with the head alone: whoever sends a stream finds its client gone behind that."""
        begun, asked = asyncio.Event(), False

        async def first_alone() -> Message:
            nonlocal asked
            if not asked:
                asked = True
                return await receive()
            await begun.wait()
            return {"type": "http.disconnect"}

        async def head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                begun.set()

        reading = {**scope, "method": "GET"}
        try:
            await self._app(reading, first_alone, head)
        finally:
            scope["route"] = reading.get("route")
        if begun.is_set():
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def methods_at(request: Request, routers: Iterable[APIRouter]) -> Sequence[str]:
    """Return the methods that a path of the server itself takes; none where there is nothing."""
    routes = [route for router in routers for route in router.routes if isinstance(route, Route)]
    there = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    found = {method for route in there for method in route.methods or ()}
    return sorted(found | {"HEAD"} if "GET" in found else found)


def without_start(request: Request, taken: Iterable[str]) -> Response:
    """Answer a request that starts and reads nothing, at a path that takes some methods; raises `Problem`."""
    taken = set(taken)
    if not taken:
        raise Problem(404, "unknown-path", "there is nothing at this path")
    allowed = ", ".join(sorted(taken | {"OPTIONS"}))
    if request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": allowed})
    raise Problem(405, "wrong-method", f"this path takes {allowed}", headers={"Allow": allowed})
