"""Who may use a path: its scope, and how often."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from tuvl.server.admitting import admitted, must_have
from tuvl.server.authentication import Caller, unauthorized
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
        must_have(services, found, scope)
        return found

    return caller


async def authenticated(services: Services, request: Request) -> Caller:
    """Return who makes a request, when it is not one too many; raises `Problem`."""
    return await admitted(services, request.headers.getlist("authorization"), address_of(request))


def address_of(request: Request) -> str:
    """Return the address that a request came from."""
    return request.client.host if request.client is not None else ""
