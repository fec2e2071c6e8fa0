"""How a started run is answered: its result, where it can be found, or its events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tuvl.server.durable_runs import DurableRun
from tuvl.server.event_stream import EventStream
from tuvl.server.live_runs import LiveRun
from tuvl.server.problems import Problem
from tuvl.server.services import Services
from tuvl.server.starting import Known, Mode, Order
from tuvl.values import JsonObject

Value = TypeVar("Value")


async def answer_start(services: Services, request: Request, order: Order) -> Response:
    """Start a run and answer as its client wants it; raises `Problem`."""
    if order.mode == "stream" and services.streams.full:
        raise no_room_to_watch()
    run = await services.starts.start(order)
    if isinstance(run, Known):
        return await _of_known(services, run, order)
    match order.mode:
        case "detached":
            return accepted(run.run_id, run.workflow)
        case "stream":
            return stream(services, run, last_id=None, content=True, on_end=run.leave)
        case "sync":
            try:
                document = await _unless_left(request, run.outcome(), services.streams.closing)
            except _ClosingDown:
                where = {"Location": f"/api/runs/{run.run_id}", "Retry-After": "5"}
                raise Problem(503, "closing", "the server closes down, and the run goes on", headers=where) from None
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


def accepted(run_id: str, workflow: str) -> Response:
    """Answer that a run goes on by itself."""
    body = {"run_id": run_id, "workflow": workflow, "status": "running"}
    return JSONResponse(body, 202, headers={"Location": f"/api/runs/{run_id}"})


def no_room_to_watch() -> Problem:
    """Return what is said when too many watch."""
    return Problem(503, "no-room", "as many clients watch as this server takes", headers={"Retry-After": "5"})


def stream(
    services: Services,
    run: LiveRun | DurableRun,
    *,
    last_id: str | None,
    content: bool,
    on_end: Callable[[], None] = lambda: None,
) -> EventStream:
    """Answer with the events of a run."""
    reader = run.log.reader(last_id=last_id, content=content)

    def ended(complete: bool) -> None:
        services.meters.events_dropped.inc(reader.dropped)
        on_end()

    return EventStream(
        reader,
        services.streams,
        heartbeat_s=services.options.heartbeat_s,
        patience_s=services.options.client_patience_s,
        on_end=ended,
        headers={"Location": f"/api/runs/{run.run_id}"},
    )


async def _of_known(services: Services, run: Known, order: Order) -> Response:
    """Answer for a run that was started before, and is over, or in another process."""
    found = await services.reading.run(run.run_id, order.principal)
    result = found["result"]
    if order.mode == "detached" or not isinstance(result, dict):
        return accepted(run.run_id, order.offered.name)
    return finished(run.run_id, result)


class _ClosingDown(Exception):
    """The server closes down before what a client waits for is there."""


async def _unless_left(request: Request, wanted: Awaitable[Value], closing: asyncio.Event) -> Value | None:
    """Wait for something, unless the client leaves; `None` when it did. Raises `_ClosingDown`."""
    getting = asyncio.ensure_future(wanted)
    leaving, closed = asyncio.create_task(_left(request)), asyncio.create_task(closing.wait())
    try:
        await asyncio.wait((getting, leaving, closed), return_when=asyncio.FIRST_COMPLETED)
        if closed.done():
            # What has ended by then is only about to say so.
            await asyncio.wait((getting, leaving), timeout=_LAST_S, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
        if leaving.done():
            return None
        raise _ClosingDown
    finally:
        for task in (getting, leaving, closed):
            task.cancel()
        await asyncio.gather(getting, leaving, closed, return_exceptions=True)


_LAST_S = 0.5


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
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Problem(400, "key-unreadable", f"an Idempotency-Key has 1 to {_LONGEST_KEY} printable ASCII characters")
    return key


_LONGEST_KEY = 200
