"""The application: its paths in their order, and what stands around them."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

import tuvl
from tuvl.server.browser_session import session_router
from tuvl.server.door import Door
from tuvl.server.guard import Guard
from tuvl.server.pages.router import pages_router
from tuvl.server.problems import install
from tuvl.server.routes.agents import agents_router
from tuvl.server.routes.description import description_router
from tuvl.server.routes.forms import ProblemDetails
from tuvl.server.routes.health import health_router
from tuvl.server.routes.runs import runs_router
from tuvl.server.routes.triggers import triggers_router
from tuvl.server.routes.waits import waits_router
from tuvl.server.services import Services


def make_app(services: Services) -> ASGIApp:
    """Return what a server serves: the API, the pages, and the triggers of the workflows."""
    return Guard(Door(make_api(services), services), services.options, services.meters)


def make_api(services: Services) -> FastAPI:
    """Return the application without the guard around it."""
    app = FastAPI(
        title="tuvl",
        version=tuvl.__version__,
        summary="Starts, shows and controls runs of workflows.",
        docs_url=None,  # such a page loads scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # what it says of triggers depends on who asks
        redirect_slashes=False,
        # Spans are opened by the engine; a request's would hold its address.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    install(app)
    own = [make(services) for make in (health_router, runs_router, waits_router, agents_router)]
    for router in own:
        app.include_router(router)
    app.include_router(description_router(services, lambda: app.openapi()))
    app.include_router(session_router(services.sessions))
    app.include_router(pages_router(services))
    app.include_router(triggers_router(services, own))
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["ProblemDetails"] = ProblemDetails.model_json_schema()
        return document

    app.openapi = openapi  # type: ignore[method-assign]
    return app
