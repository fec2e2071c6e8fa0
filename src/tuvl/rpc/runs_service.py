"""The service `tuvl.v1.Runs`: each call reads a message, asks one service of the server, and writes its answer."""

from collections.abc import Mapping

import grpc

from tuvl.control import ControlAction
from tuvl.data.run_rows import TraceFilter
from tuvl.hosting.requests import AnswerRequest
from tuvl.rpc import runs_pb2 as pb
from tuvl.rpc.door import Door, Handler, Outlet
from tuvl.rpc.messages import begun_of, object_of, run_of
from tuvl.rpc.starting import Starting, follow
from tuvl.server.attending import GoesOn, closing_down, watching
from tuvl.server.authentication import Caller
from tuvl.server.forks import fork_for
from tuvl.server.obstacles import told_of
from tuvl.server.problems import Problem
from tuvl.server.routes.forms import Answer, Fork, Instruction, RunsAsked, checked
from tuvl.server.services import Services
from tuvl.server.starting import checked_key
from tuvl.values import dump_json

SERVICE = "tuvl.v1.Runs"

_ACTIONS: Mapping[int, ControlAction] = {
    pb.ACTION_PAUSE: "pause",
    pb.ACTION_RESUME: "resume",
    pb.ACTION_STEER: "steer",
    pb.ACTION_ABORT: "abort",
}
_LONGEST_ID = 200


def runs_handlers(services: Services) -> dict[str, Handler]:
    """Return what answers each call, by its name: with the scope that it needs and the message that it takes."""
    door, starting, runs = Door(services, SERVICE), Starting(services), _Runs(services)
    return {
        "Start": door.unary("Start", "runs:start", pb.StartRequest, starting.start),
        "StartAndWatch": door.stream("StartAndWatch", "runs:start", pb.StartRequest, starting.start_and_watch),
        "Get": door.unary("Get", "runs:read", pb.GetRequest, runs.get),
        "List": door.unary("List", "runs:read", pb.ListRequest, runs.list),
        "Watch": door.stream("Watch", "runs:read", pb.WatchRequest, runs.watch),
        "ListWaits": door.unary("ListWaits", "runs:read", pb.ListWaitsRequest, runs.list_waits),
        "Answer": door.unary("Answer", "runs:control", pb.AnswerRequest, runs.answer),
        "Abort": door.unary("Abort", "runs:control", pb.AbortRequest, runs.abort),
        "Fork": door.unary("Fork", "runs:control", pb.ForkRequest, runs.fork),
        "Renew": door.unary("Renew", "runs:control", pb.RenewRequest, runs.renew),
        "Trace": door.unary("Trace", "runs:read", pb.TraceRequest, runs.trace),
        "Control": door.unary("Control", "agent:control", pb.ControlRequest, runs.control),
    }


class _Runs:
    """Reading, watching and controlling."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def get(self, asked: pb.GetRequest, caller: Caller) -> pb.Run:
        return run_of(await self._services.reading.run(_id(asked.run_id), caller.principal))

    async def list(self, asked: pb.ListRequest, caller: Caller) -> pb.ListResponse:
        form = checked(
            RunsAsked,
            {
                "workflow": asked.workflow or None,
                "status": asked.status or None,
                "principal": asked.principal or None,
                **({"limit": asked.limit} if asked.limit else {}),
            },
        )
        found = await self._services.reading.runs(form.to_filter(), caller.principal)
        return pb.ListResponse(runs=[run_of(run) for run in found])

    async def watch(self, asked: pb.WatchRequest, caller: Caller, outlet: Outlet) -> None:
        run_id = _id(asked.run_id)
        reader = await watching(self._services, run_id, caller, last_id=asked.after or None)
        try:
            await follow(self._services, run_id, reader, outlet, caller)
        except GoesOn:
            raise closing_down(run_id) from None

    async def list_waits(self, asked: pb.ListWaitsRequest, caller: Caller) -> pb.ListWaitsResponse:
        return pb.ListWaitsResponse(
            waits=[
                pb.Wait(run_id=wait.run_id, kind=wait.kind, digest=wait.digest, json=dump_json(told_of(wait, caller)))
                for wait in await self._services.durable.waits(caller.principal)
            ]
        )

    async def answer(self, asked: pb.AnswerRequest, caller: Caller) -> pb.AnswerResponse:
        form = checked(Answer, {"digest": asked.digest, "value": object_of(asked.value_json, "value_json")})
        request = AnswerRequest(digest=form.digest, value=form.value, by=caller.principal)
        answered = await self._services.durable.answer(_id(asked.run_id), request)
        return pb.AnswerResponse(run_id=answered.run_id, by=answered.by, at=answered.at.isoformat())

    async def abort(self, asked: pb.AbortRequest, caller: Caller) -> pb.AbortResponse:
        form = checked(Instruction, {"message": asked.reason})
        await self._services.durable.abort(_id(asked.run_id), form.message, caller.principal)
        return pb.AbortResponse(run_id=asked.run_id)

    async def fork(self, asked: pb.ForkRequest, caller: Caller) -> pb.StartResponse:
        form, key = checked(Fork, {"at": asked.at}), checked_key(asked.idempotency_key or None)
        forked = await fork_for(self._services, _id(asked.run_id), form.at, caller, key=key)
        return begun_of(await self._services.reading.run(forked, caller.principal))

    async def renew(self, asked: pb.RenewRequest, caller: Caller) -> pb.StartResponse:
        await self._services.durable.renew(_id(asked.run_id), caller.principal)
        return begun_of(await self._services.reading.run(asked.run_id, caller.principal))

    async def trace(self, asked: pb.TraceRequest, caller: Caller) -> pb.TraceResponse:
        caller.must_have("agent:observe")
        wanted = TraceFilter(step=asked.step or None, tool=asked.tool or None)
        entries = await self._services.reading.trace(_id(asked.run_id), wanted, caller.principal)
        return pb.TraceResponse(entries_json=[dump_json(entry) for entry in entries])

    async def control(self, asked: pb.ControlRequest, caller: Caller) -> pb.ControlResponse:
        action = _ACTIONS.get(asked.action)
        if action is None:
            raise Problem(422, "request-refused", "action must be ACTION_PAUSE, _RESUME, _STEER or _ABORT")
        form = checked(Instruction, {"message": asked.message})
        told = await self._services.controlling.tell(_id(asked.run_id), action, form.message, caller.principal)
        return pb.ControlResponse(
            run_id=str(told["run_id"]),
            directive=str(told["directive"]),
            outcome=str(told["outcome"]),
            note=str(told["note"] or ""),
        )


def _id(run_id: str) -> str:
    if not 0 < len(run_id) <= _LONGEST_ID:
        raise Problem(422, "request-refused", f"run_id must have 1 to {_LONGEST_ID} characters")
    return run_id


def runs_service(services: Services) -> grpc.GenericRpcHandler:
    """Return the service."""
    return grpc.method_handlers_generic_handler(SERVICE, runs_handlers(services))
