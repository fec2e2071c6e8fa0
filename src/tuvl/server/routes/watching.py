"""Watching a run that somebody else has started, in this process or in another."""

from starlette.responses import Response

from tuvl.server.authentication import Caller
from tuvl.server.event_stream import EventStream
from tuvl.server.outside import OutsideReader
from tuvl.server.routes.answers import stream
from tuvl.server.services import Services


async def watched(services: Services, run_id: str, caller: Caller, *, last_id: str | None) -> Response:
    """Answer with the events of a run; of one that is over, or in another process, with its end. Raises `Problem`."""
    run = services.live.find(run_id, caller.principal)
    if run is not None:
        own = (run.principal.tenant, run.principal.id) == caller.key
        return stream(services, run, last_id=last_id, content=own or caller.has("agent:observe"))
    shown = await services.reading.run(run_id, caller.principal)
    if services.durable.there and services.durable.has(run_id):
        own = (shown["tenant"], shown["principal"]) == caller.key
        durable = services.durable.watched(run_id, str(shown["workflow"]), caller.principal)
        return stream(services, durable, last_id=last_id, content=own or caller.has("agent:observe"))
    return EventStream(
        OutsideReader(
            services.reading, run_id, caller.principal, clock=services.clock, closing=services.streams.closing
        ),
        services.streams,
        heartbeat_s=services.options.heartbeat_s,
        patience_s=services.options.client_patience_s,
    )
