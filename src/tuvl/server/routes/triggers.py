"""The paths that workflows name under `trigger:`; the last router, since it takes what no other one does."""

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tuvl.analysis.trigger_paths import is_of_server
from tuvl.principal import Principal
from tuvl.server.admitting import take
from tuvl.server.authentication import Caller
from tuvl.server.catalogue import Offered
from tuvl.server.methods import ASKING, METHODS, REFUSED, methods_at, without_start
from tuvl.server.problems import Problem, check_json, read_json
from tuvl.server.routes.answers import answer_start, key_of, mode_of
from tuvl.server.routes.callers import address_of, authenticated
from tuvl.server.routes.queries import input_of
from tuvl.server.services import Services
from tuvl.server.starting import Order
from tuvl.values import JsonObject

PUBLIC = "public"
"""Id of the principal of whoever calls a public trigger without a token."""

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def triggers_router(services: Services, own: Sequence[APIRouter]) -> APIRouter:
    """Return the paths; `own` are the routers of the server's paths, which tell the methods that those take."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/{path:path}", methods=[*METHODS, *ASKING, *REFUSED])
    async def trigger(request: Request) -> Response:
        path = request.url.path
        if is_of_server(path):
            return without_start(request, methods_at(request, own))
        caller = await _caller(services, request)
        started = services.catalogue.triggered(path, None if caller is None else caller.principal)
        offered = started.get(request.method)
        if offered is None:
            return without_start(request, started)
        order = Order(
            offered=offered,
            input=await _input(request, offered),
            mode=mode_of(request),
            principal=Principal(id=PUBLIC, scopes=frozenset()) if caller is None else caller.principal,
            key=key_of(request),
            address=address_of(request) if caller is None else None,
        )
        return await answer_start(services, request, order, caller)

    return router


async def _caller(services: Services, request: Request) -> Caller | None:
    """Return who may start what is at a path; `None` for a stranger where it is public. Raises `Problem`.

    Whoever has no token does not learn which other paths there are.
    """
    method = None if request.method in ASKING else request.method
    if "authorization" not in request.headers and services.catalogue.is_public(request.url.path, method):
        take(services, ("address", address_of(request)))
        return None
    caller = await authenticated(services, request)
    caller.must_have("runs:start")
    return caller


async def _input(request: Request, offered: Offered) -> JsonObject:
    """Return the initial context: the body where a method has one, else the query."""
    if request.method not in _WITH_BODY:
        schema = offered.plan.input_schema
        return input_of(request.query_params.multi_items(), None if schema is None else schema.schema)
    body = await request.body()
    if not body:
        return {}
    check_json(request)
    value = read_json(body)
    if not isinstance(value, dict):
        raise Problem(422, "input-refused", "the body must be a JSON object: the input of the run")
    return value
