"""The application: its paths in their order, and what stands around them."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

import tuvl
from tuvl.server.browser_session import session_router
from tuvl.server.door import Door
from tuvl.server.guard import Guard
from tuvl.server.methods import Methods
from tuvl.server.pages.router import pages_routers
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
    return Guard(Door(Methods(make_api(services)), services), services.options, services.meters)


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
    own += [description_router(services, lambda: app.openapi()), session_router(services.sessions)]
    own += pages_routers(services)
    for router in (*own, triggers_router(services, own)):
        app.include_router(router)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["ProblemDetails"] = ProblemDetails.model_json_schema()
        return document

    app.openapi = openapi  # type: ignore[method-assign]
    return app
