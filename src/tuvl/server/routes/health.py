"""`/healthz`, `/readyz` and `/metrics`: for those who keep the server running."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse, Response

from tuvl.server.authentication import Caller
from tuvl.server.meters import CONTENT_TYPE
from tuvl.server.routes.callers import caller_with
from tuvl.server.routes.forms import problems
from tuvl.server.services import Services


def health_router(services: Services) -> APIRouter:
    """Return the paths."""
    router = APIRouter(tags=["health"])
    reader = caller_with(services, "metrics:read")

    @router.get("/healthz")
    async def healthy() -> JSONResponse:
        """Tell that the process answers."""
        return JSONResponse({"status": "ok"})

    @router.get("/readyz", responses={503: problems()[503]})
    async def ready() -> JSONResponse:
        """Tell whether new runs may be sent here: not while the server closes down or its store is away."""
        await services.check_ready()
        return JSONResponse({"status": "ready"})

    @router.get(
        "/metrics",
        response_model=None,
        responses={200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}, **problems()},
    )
    async def metrics(caller: Annotated[Caller, Depends(reader)]) -> Response:
        """Give out what the server counts, of all tenants together and by the names of workflows."""
        return Response(services.meters.text(), headers={"Content-Type": CONTENT_TYPE})

    return router
