"""How a started run is answered: its result, where it can be found, or its events."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tuvl.principal import Principal
from tuvl.racing import unless
from tuvl.server.attending import Admitted, GoesOn, admitted_by, begun, outcome_of, shut_out, standing
from tuvl.server.authentication import Caller
from tuvl.server.event_stream import EventStream
from tuvl.server.known_runs import outcome_outside, outside
from tuvl.server.problems import Problem
from tuvl.server.sent_events import Reader
from tuvl.server.services import Services
from tuvl.server.starting import Known, Mode, Order, checked_key
from tuvl.values import JsonObject

Value = TypeVar("Value")


async def answer_start(services: Services, request: Request, order: Order, caller: Caller | None) -> Response:
    """Start a run and answer as its client wants it; raises `Problem`. Without a `caller` anybody may."""
    if "last-event-id" in request.headers:
        # A browser that was cut off asks again by itself, for the events and not for another run.
        raise Problem(409, "goes-on", "this would start another run; watch the one that there is, by its id")
    if order.mode == "stream":
        services.streams.check_room()
    run = await services.starts.start(order)
    if isinstance(run, Known):
        return await _of_known(services, request, run, order, caller)
    match order.mode:
        case "detached":
            body = await begun(services, run, order.principal)
            return JSONResponse(body, 202, headers={"Location": f"/api/runs/{run.run_id}"})
        case "stream":
            admitted = admitted_by(services, caller)
            return stream(services, run.run_id, run.log.reader(), admitted=admitted, on_end=run.leave)
        case "sync":
            try:
                document = await _unless_left(request, outcome_of(services, run))
            except GoesOn:
                return await accepted(services, run.run_id, order.principal, workflow=run.workflow)
            finally:
                run.leave()
            return finished(run.run_id, document)


def finished(run_id: str, document: JsonObject | None) -> Response:
    """Answer with a result document; `None` is that of a client that is gone."""
    if document is None:
        return Response(status_code=499)
    # A run that waits for somebody has not been done.
    status = 202 if document["status"] == "suspended" else 200
    return JSONResponse(document, status, headers={"Location": f"/api/runs/{run_id}"})


async def accepted(services: Services, run_id: str, reader: Principal, *, workflow: str | None = None) -> Response:
    """Answer that a run goes on by itself, and where it stands: one that was begun before may be over."""
    body = await standing(services, run_id, reader, workflow=workflow)
    return JSONResponse(body, 202, headers={"Location": f"/api/runs/{run_id}"})


def stream(
    services: Services,
    run_id: str,
    reader: Reader,
    *,
    admitted: Admitted,
    on_end: Callable[[], None] = lambda: None,
) -> EventStream:
    """Answer with the events of a run, as long as its client is admitted."""

    def ended(complete: bool) -> None:
        services.meters.events_dropped.inc(reader.dropped)
        on_end()

    return EventStream(
        reader,
        services.streams,
        heartbeat_s=services.options.heartbeat_s,
        patience_s=services.options.client_patience_s,
        on_end=ended,
        shut_out=lambda: shut_out(services, admitted),
        headers={"Location": f"/api/runs/{run_id}"},
    )


async def _of_known(services: Services, request: Request, run: Known, order: Order, caller: Caller | None) -> Response:
    """Answer for a run that was started before, and is over, or in another process."""
    if order.of_stranger:
        # Whoever asks again need not be who asked first: what came of it is for that one alone.
        return await accepted(services, run.run_id, order.principal)
    match order.mode:
        case "detached":
            return await accepted(services, run.run_id, order.principal)
        case "stream":
            reader = outside(services, run.run_id, order.principal)
            return stream(services, run.run_id, reader, admitted=admitted_by(services, caller))
        case "sync":
            try:
                document = await _unless_left(request, outcome_outside(services, run.run_id, order.principal))
            except GoesOn:
                return await accepted(services, run.run_id, order.principal, workflow=order.offered.name)
            return finished(run.run_id, document)


async def _unless_left(request: Request, wanted: Awaitable[Value]) -> Value | None:
    """Wait for something, unless the client leaves; `None` when it did."""
    return await unless(wanted, _left(request))


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def mode_of(request: Request, given: Mode | None = None) -> Mode:
    """Return how a client waits, by what it says or by its headers."""
    if given is not None:
        return given
    if "text/event-stream" in request.headers.get("accept", ""):
        return "stream"
    preferred = [each.strip().lower() for each in request.headers.get("prefer", "").split(",")]
    return "detached" if "respond-async" in preferred else "sync"


def key_of(request: Request) -> str | None:
    """Return what makes several requests one start; raises `Problem` for what cannot be a key."""
    return checked_key(request.headers.get("idempotency-key"))
