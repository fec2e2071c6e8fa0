"""Forks of durable runs, for callers of a server."""

from tuvl.server.authentication import Caller
from tuvl.server.services import Services
from tuvl.server.starting import check_rights


async def fork_for(services: Services, run_id: str, at: str, caller: Caller) -> str:
    """Start a run of the caller's with the record of another one up to a step; returns its id, raises `Problem`.

    It needs what a start needs: the scope `runs:start`, and the rights that the workflow asks for.
    """
    caller.must_have("runs:start")
    shown = await services.reading.run(run_id, caller.principal)
    offered = services.catalogue.workflows.get(str(shown["workflow"]))
    if offered is not None:
        check_rights(offered, caller.principal)
    forked = await services.durable.fork(run_id, at, caller.principal)
    services.meters.runs_started.labels(str(shown["workflow"]), "true").inc()
    return forked
