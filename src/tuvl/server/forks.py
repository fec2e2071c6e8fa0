"""Forks of durable runs, for callers of a server."""

import hashlib
from uuid import uuid4

from tuvl.errors import TuvlError
from tuvl.hosting.asking import DatabaseAway
from tuvl.server.authentication import Caller
from tuvl.server.problems import Problem
from tuvl.server.services import Services
from tuvl.server.starting import check_body, check_rights, kept_key
from tuvl.values import canonical


async def fork_for(services: Services, run_id: str, at: str, caller: Caller, *, key: str | None = None) -> str:
    """Start a run of the caller's with the record of another one up to a step; returns its id, raises `Problem`.

    It needs what a start needs: the scope `runs:start`, and the rights that the workflow asks for. Asked for again with
    the same `key` it is the same run.
    """
    caller.must_have("runs:start")
    shown = await services.reading.run(run_id, caller.principal)
    workflow = str(shown["workflow"])
    offered = services.catalogue.workflows.get(workflow)
    if offered is not None:
        check_rights(offered, caller.principal)
    if key is None:
        return await _forked(services, run_id, at, caller, workflow, new=uuid4().hex)
    kept = kept_key(caller.principal, key)
    with services.starts.lock(kept) as lock:
        async with lock:
            return await _once(services, run_id, at, caller, workflow, kept)


async def _once(services: Services, run_id: str, at: str, caller: Caller, workflow: str, kept: str) -> str:
    keys = services.registry.access.store.access
    body = hashlib.sha256(canonical({"fork": run_id, "at": at}).encode()).hexdigest()
    claimed = await keys.claim(kept, body=body, run_id=uuid4().hex, at=services.clock.now())
    check_body(claimed, body)
    if not claimed.is_new and await services.durable.has(claimed.run_id):
        return claimed.run_id
    try:
        return await _forked(services, run_id, at, caller, workflow, new=claimed.run_id)
    except DatabaseAway:
        raise  # it may have been accepted all the same: whoever comes again finds it, or has that very run made
    except (Problem, TuvlError):
        if claimed.is_new:
            await keys.release(kept)
        raise


async def _forked(services: Services, run_id: str, at: str, caller: Caller, workflow: str, *, new: str) -> str:
    forked = await services.durable.fork(run_id, at, caller.principal, new=new)
    services.meters.runs_started.labels(workflow, "true").inc()
    return forked
