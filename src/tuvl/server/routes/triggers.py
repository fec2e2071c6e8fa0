"""The paths that workflows name under `trigger:`; the last router, since it takes what no other one does."""

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from tuvl.analysis.trigger_paths import is_of_api
from tuvl.principal import Principal
from tuvl.server.admitting import take
from tuvl.server.catalogue import Offered
from tuvl.server.problems import Problem, read_json
from tuvl.server.routes.answers import answer_start, key_of, mode_of
from tuvl.server.routes.callers import address_of, authenticated
from tuvl.server.routes.queries import input_of
from tuvl.server.services import Services
from tuvl.server.starting import Order
from tuvl.values import JsonObject

PUBLIC = "public"
"""Id of the principal of whoever calls a public trigger without a token."""

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def triggers_router(services: Services, own: Sequence[APIRouter]) -> APIRouter:
    """Return the paths; `own` are the routers of the server's paths, which tell the methods that those take."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/{path:path}", methods=METHODS)
    async def trigger(request: Request) -> Response:
        path = request.url.path
        if is_of_api(path):
            raise _not_there(request, own)
        caller = None
        public = services.catalogue.is_public(path, request.method)
        if public and "authorization" not in request.headers:
            take(services, ("address", address_of(request)))
            principal = Principal(id=PUBLIC, scopes=frozenset())
        else:
            # Whoever has no token does not learn which paths there are.
            caller = await authenticated(services, request)
            caller.must_have("runs:start")
            principal = caller.principal
        offered = services.catalogue.triggered(path, request.method)
        order = Order(
            offered=offered,
            input=await _input(request, offered),
            mode=mode_of(request),
            principal=principal,
            key=key_of(request),
            address=address_of(request) if principal.id == PUBLIC and not principal.scopes else None,
        )
        return await answer_start(services, request, order, caller)

    return router


def _not_there(request: Request, own: Sequence[APIRouter]) -> Problem:
    routes = [route for router in own for route in router.routes if isinstance(route, Route)]
    partly = [route for route in routes if route.matches(request.scope)[0] is Match.PARTIAL]
    if not partly:
        return Problem(404, "unknown-path", "there is nothing at this path")
    allowed = ", ".join(sorted({method for route in partly for method in route.methods or ()}))
    return Problem(405, "wrong-method", f"this path takes {allowed}", headers={"Allow": allowed})


async def _input(request: Request, offered: Offered) -> JsonObject:
    """Return the initial context: the body where a method has one, else the query."""
    if request.method not in _WITH_BODY:
        schema = offered.plan.input_schema
        return input_of(request.query_params.multi_items(), None if schema is None else schema.schema)
    body = await request.body()
    if not body:
        return {}
    kind = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Problem(415, "wrong-media-type", "the body must be JSON; say Content-Type: application/json")
    value = read_json(body)
    if not isinstance(value, dict):
        raise Problem(422, "input-refused", "the body must be a JSON object: the input of the run")
    return value
