"""Who gets in, whatever a request comes over: a token, its scope, and how often its principal may ask."""

import math
from collections.abc import Sequence

from tuvl.server.authentication import Caller, unauthorized
from tuvl.server.problems import Problem
from tuvl.server.services import Services


async def admitted(services: Services, given: Sequence[str], address: str) -> Caller:
    """Return who makes a request, when it is not one too many; raises `Problem`.

    `given` are all values of `authorization` that came with it, `address` is where it came from.
    """
    try:
        if len(given) > 1:
            raise unauthorized(given=True)
        caller = await services.authenticator.of_header(given[0] if given else None)
    except Problem as problem:
        services.meters.refused.labels("token").inc()
        if given and problem.status_code == 401:
            take(services, ("address", address), failures=True)
        raise
    take(services, caller.key)
    return caller


def must_have(services: Services, caller: Caller, scope: str) -> None:
    """Raise `Problem` when a caller lacks a scope."""
    try:
        caller.must_have(scope)
    except Problem:
        services.meters.refused.labels("scope").inc()
        raise


def take(services: Services, key: object, *, failures: bool = False) -> None:
    """Count a request; raises `Problem` when it is one too many."""
    wait = (services.failures if failures else services.rates).take(key)
    if wait > 0:
        services.meters.refused.labels("rate").inc()
        raise Problem(
            429, "too-often", "too many requests; see Retry-After", headers={"Retry-After": str(math.ceil(wait))}
        )
