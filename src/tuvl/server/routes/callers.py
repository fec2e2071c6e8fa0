"""Who may use a path: its scope, and how often."""

import math
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from tuvl.server.authentication import Caller, unauthorized
from tuvl.server.problems import Problem
from tuvl.server.services import Services

_bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="An API token of `tuvl token create`, or a JSON Web Token."
)
"""For the description of the API; the header itself is read by the authenticator."""

Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]

CALLER = "tuvl.caller"
"""Where a request carries who makes it, once that is known."""

CallerOf = Callable[..., Awaitable[Caller]]


def caller_with(services: Services, scope: str) -> CallerOf:
    """Return what a path depends on so that only callers with a scope get in."""

    async def caller(request: Request, _: Bearer) -> Caller:
        found = request.scope.get(CALLER)
        if not isinstance(found, Caller):
            raise unauthorized(given=False)
        try:
            found.must_have(scope)
        except Problem:
            services.meters.refused.labels("scope").inc()
            raise
        return found

    return caller


async def authenticated(services: Services, request: Request) -> Caller:
    """Return who makes a request, when it is not one too many; raises `Problem`."""
    given = request.headers.getlist("authorization")
    try:
        if len(given) > 1:
            raise unauthorized(given=True)
        caller = await services.authenticator.of_header(given[0] if given else None)
    except Problem as problem:
        services.meters.refused.labels("token").inc()
        if given and problem.status_code == 401:
            take(services, ("address", address_of(request)), failures=True)
        raise
    take(services, caller.key)
    return caller


def take(services: Services, key: object, *, failures: bool = False) -> None:
    """Count a request; raises `Problem` when it is one too many."""
    wait = (services.failures if failures else services.rates).take(key)
    if wait > 0:
        services.meters.refused.labels("rate").inc()
        raise Problem(
            429, "too-often", "too many requests; see Retry-After", headers={"Retry-After": str(math.ceil(wait))}
        )


def address_of(request: Request) -> str:
    """Return the address that a request came from."""
    return request.client.host if request.client is not None else ""
