"""`Start` and `StartAndWatch`: runs that last as long as their client, unless they are detached."""

import asyncio

from tuvl.rpc import runs_pb2 as pb
from tuvl.rpc.door import Outlet
from tuvl.rpc.messages import begun_of, event_of, object_of, started_of
from tuvl.server.attending import GoesOn, admitted_by, begun, outcome_of, shut_out, standing, watching
from tuvl.server.authentication import Caller, unauthorized
from tuvl.server.known_runs import outcome_outside
from tuvl.server.problems import Problem
from tuvl.server.routes.forms import StartRequest, checked
from tuvl.server.sent_events import Reader
from tuvl.server.services import Services
from tuvl.server.starting import Known, Mode, Order, Started, checked_key
from tuvl.values import JsonObject


class Starting:
    """Starts runs for the clients of one server."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._beginning: set[asyncio.Task[Started]] = set()

    async def start(self, asked: pb.StartRequest, caller: Caller) -> pb.StartResponse:
        """Start a run, and wait for its result unless it is detached."""
        order = self._order(asked, caller, "detached" if asked.detached else "sync")
        run = await self._begun(order)
        if order.mode == "detached":
            if isinstance(run, Known):
                return begun_of(await standing(self._services, run.run_id, caller.principal))
            return begun_of(await begun(self._services, run, caller.principal))
        try:
            return started_of(run.run_id, order.offered.name, await self._outcome(run, caller))
        except GoesOn:
            return begun_of(await standing(self._services, run.run_id, caller.principal, workflow=order.offered.name))
        finally:
            if not isinstance(run, Known):
                run.leave()

    async def _outcome(self, run: Started, caller: Caller) -> JsonObject:
        if isinstance(run, Known):
            return await outcome_outside(self._services, run.run_id, caller.principal)
        return await outcome_of(self._services, run)

    async def start_and_watch(self, asked: pb.StartRequest, caller: Caller, outlet: Outlet) -> None:
        """Start a run, and send its events."""
        if asked.detached:
            raise Problem(422, "request-refused", "StartAndWatch starts no detached run; call Start, then Watch")
        self._services.streams.check_room()
        run = await self._begun(self._order(asked, caller, "stream"))
        try:
            reader = await self._reader(run, caller)
            await follow(self._services, run.run_id, reader, outlet, caller)
        except GoesOn:
            raise Problem(409, "goes-on", f"the server closes down, and run {run.run_id!r} goes on: watch it") from None
        finally:
            if not isinstance(run, Known):
                run.leave()

    async def _reader(self, run: Started, caller: Caller) -> Reader:
        if isinstance(run, Known):
            return await watching(self._services, run.run_id, caller, last_id=None)
        return run.log.reader()

    def _order(self, asked: pb.StartRequest, caller: Caller, mode: Mode) -> Order:
        form = checked(
            StartRequest,
            {
                "workflow": asked.workflow,
                "input": object_of(asked.input_json, "input_json"),
                "durable": asked.durable if asked.HasField("durable") else None,
                "timeout_s": asked.timeout_s if asked.HasField("timeout_s") else None,
                "trace": asked.trace,
            },
        )
        return Order(
            offered=self._services.catalogue.named(form.workflow, caller.principal),
            input=form.input,
            mode=mode,
            principal=caller.principal,
            durable=form.durable,
            timeout_s=form.timeout_s,
            trace=form.trace,
            key=checked_key(asked.idempotency_key or None),
        )

    async def _begun(self, order: Order) -> Started:
        """Start a run; one whose client leaves at this very moment is left as soon as it has begun."""
        beginning: asyncio.Task[Started] = asyncio.create_task(self._services.starts.start(order))
        self._beginning.add(beginning)
        beginning.add_done_callback(self._beginning.discard)
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            if order.mode != "detached":
                beginning.add_done_callback(_leave)
            raise


def _leave(beginning: "asyncio.Task[Started]") -> None:
    if beginning.cancelled() or beginning.exception() is not None:
        return
    run = beginning.result()
    if not isinstance(run, Known):
        run.leave()


async def follow(services: Services, run_id: str, reader: Reader, outlet: Outlet, caller: Caller) -> None:
    """Send the events of a run, to the terminal one.

    Raises `GoesOn` when the server closes down before, and `Problem` when the caller would not get in any more.
    """
    sending = asyncio.create_task(_send(services, run_id, reader, outlet))
    shutting = asyncio.create_task(shut_out(services, admitted_by(services, caller)))
    try:
        with services.streams.one():
            await asyncio.wait((sending, shutting), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise unauthorized(given=True)
            sending.result()
    finally:
        for task in (sending, shutting):
            task.cancel()
        await asyncio.gather(sending, shutting, return_exceptions=True)
        services.meters.events_dropped.inc(reader.dropped)


async def _send(services: Services, run_id: str, reader: Reader, outlet: Outlet) -> None:
    await outlet.begin(run_id)
    while not reader.ended:
        events = await reader.events(services.options.heartbeat_s)
        for event in events:
            await outlet.send(event_of(event))
        if not events and services.streams.closing.is_set():
            break  # the run goes on elsewhere; the client connects again, and another process answers
    if not reader.ended:
        raise GoesOn
