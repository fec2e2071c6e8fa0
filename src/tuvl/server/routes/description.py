"""`/openapi.json`: the description of the API, with the triggers that whoever asks may start."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tuvl.server.authentication import Caller
from tuvl.server.catalogue import Offered
from tuvl.server.routes.callers import authenticated
from tuvl.server.routes.trigger_description import described_triggers
from tuvl.server.services import Services


def description_router(services: Services, described: Callable[[], dict[str, Any]]) -> APIRouter:
    """Return the path; `described` gives the description of the server's own paths."""
    router = APIRouter(include_in_schema=False)

    @router.get("/openapi.json")
    async def describe(request: Request) -> Response:
        # Whoever has no token does not learn which paths there are, save those that are for everybody.
        caller = await authenticated(services, request) if "authorization" in request.headers else None
        shown = [each for each in services.catalogue.workflows.values() if _may_start(each, caller)]
        document = described()
        return JSONResponse({**document, "paths": {**document["paths"], **described_triggers(shown)}})

    return router


def _may_start(offered: Offered, caller: Caller | None) -> bool:
    if offered.trigger is None:
        return False
    return offered.is_public or (caller is not None and caller.has("runs:start") and offered.is_for(caller.principal))
