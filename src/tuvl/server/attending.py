"""Clients that wait for a run, or watch one: what they get, whatever they speak."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tuvl.errors import TuvlError
from tuvl.principal import Principal
from tuvl.server.authentication import Caller
from tuvl.server.durable_runs import DurableRun
from tuvl.server.live_runs import LiveRun
from tuvl.server.outside import OutsideReader
from tuvl.server.problems import Problem
from tuvl.server.sent_events import Reader
from tuvl.server.services import Services
from tuvl.values import JsonObject

_LAST_S = 0.5

Admitted: TypeAlias = Callable[[], Awaitable[bool]]
"""Tells whether a client would still get in."""


def admitted_by(services: Services, caller: Caller | None) -> Admitted:
    """Return what tells whether a caller would still get in; one without a token always does."""

    async def admitted() -> bool:
        return caller is None or await services.authenticator.still_opens(caller)

    return admitted


async def shut_out(services: Services, admitted: Admitted) -> None:
    """Wait until a client may watch no more: its token was revoked or has expired, or its session is over."""
    while True:
        await asyncio.sleep(services.options.recheck_s)
        try:
            if not await admitted():
                return
        except (TuvlError, Problem):
            continue  # nobody can tell while the store is away; the next look does


class GoesOn(Exception):
    """The server closes down, and leaves a run to another process."""


async def outcome_of(services: Services, run: LiveRun | DurableRun) -> JsonObject:
    """Wait for the result document of a run; raises `Problem`, and `GoesOn` when the server closes down before."""
    getting = asyncio.ensure_future(run.outcome())
    closing = asyncio.create_task(services.streams.closing.wait())
    try:
        await asyncio.wait((getting, closing), return_when=asyncio.FIRST_COMPLETED)
        # What has ended when the server closes down is only about to say so.
        await asyncio.wait((getting,), timeout=_LAST_S)
        if getting.done():
            return getting.result()
    finally:
        getting.cancel()
        closing.cancel()
        await asyncio.gather(getting, closing, return_exceptions=True)
    raise GoesOn


async def standing(
    services: Services, run_id: str, reader: Principal, *, workflow: str | None = None, status: str = "running"
) -> JsonObject:
    """Return where a run stands: its id, its workflow, and its status.

    Of one that surely goes on, whose `workflow` is known, also where the store is away: it has the `status` then.
    """
    try:
        shown = await services.reading.run(run_id, reader)
    except (TuvlError, Problem):
        if workflow is None:
            raise
        return {"run_id": run_id, "workflow": workflow, "status": status}
    return {name: shown[name] for name in ("run_id", "workflow", "status")}


async def begun(services: Services, run: LiveRun | DurableRun, reader: Principal) -> JsonObject:
    """Return where a run stands that was started detached, or found; one that is accepted stays so whatever fails."""
    accepted = run.workflow if isinstance(run, DurableRun) else None
    return await standing(services, run.run_id, reader, workflow=accepted, status="queued")


def closing_down(run_id: str) -> Problem:
    """Return what a client is told that watches a run which is left to another process: to watch it there."""
    where = {"Location": f"/api/runs/{run_id}", "Retry-After": "5"}
    return Problem(503, "closing", "the server closes down, and the run goes on", headers=where)


async def watching(services: Services, run_id: str, caller: Caller, *, last_id: str | None) -> Reader:
    """Return the events of a run; where none are kept of it here, its end. Raises `Problem`."""
    services.streams.check_room()
    run = services.live.find(run_id, caller.principal)
    if run is not None:
        own = (run.principal.tenant, run.principal.id) == caller.key
        return run.log.reader(last_id=last_id, content=own or caller.has("agent:observe"))
    shown = await services.reading.run(run_id, caller.principal)
    log = await services.durable.followed(shown)
    if log is not None:
        own = (shown["tenant"], shown["principal"]) == caller.key
        return log.reader(last_id=last_id, content=own or caller.has("agent:observe"))
    return OutsideReader(
        services.reading, run_id, caller.principal, clock=services.clock, closing=services.streams.closing
    )
