"""`/api/waits`, and what is done to durable runs from outside: answered, aborted, forked, given newer files."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tuvl.hosting.requests import AnswerRequest
from tuvl.server.authentication import Caller
from tuvl.server.forks import fork_for
from tuvl.server.obstacles import told_of
from tuvl.server.problems import JsonRoute
from tuvl.server.routes.answers import accepted, key_of
from tuvl.server.routes.callers import caller_with
from tuvl.server.routes.forms import Accepted, Answer, AnswerTaken, Fork, IdempotencyKey, Instruction, Waits, problems
from tuvl.server.services import Services

RunId = Annotated[str, Path(max_length=200, description="Id of the run.")]


def waits_router(services: Services) -> APIRouter:
    """Return the paths."""
    router = APIRouter(prefix="/api", tags=["waits"], route_class=JsonRoute)
    reader, operator = caller_with(services, "runs:read"), caller_with(services, "runs:control")

    @router.get("/waits", responses=problems(), response_model=Waits)
    async def list_waits(caller: Annotated[Caller, Depends(reader)]) -> Response:
        """List what runs wait for, the oldest first; whoever may not answer is told the `obstacle`."""
        return JSONResponse(
            {"waits": [told_of(wait, caller) for wait in await services.durable.waits(caller.principal)]}
        )

    @router.post("/runs/{run_id}/answer", responses=problems(404, 409, 415), response_model=AnswerTaken)
    async def answer_run(run_id: RunId, body: Answer, caller: Annotated[Caller, Depends(operator)]) -> Response:
        """Answer what a run waits for. Of several answers the first one counts; the run goes on at once."""
        request = AnswerRequest(digest=body.digest, value=body.value, by=caller.principal)
        answered = await services.durable.answer(run_id, request)
        return JSONResponse({"run_id": run_id, "by": answered.by, "at": answered.at.isoformat()})

    @router.post("/runs/{run_id}/abort", status_code=202, responses=problems(404, 409, 415), response_model=Accepted)
    async def abort_run(
        run_id: RunId, caller: Annotated[Caller, Depends(operator)], said: Instruction | None = None
    ) -> Response:
        """End a run, wherever it is, also a durable one that waits; the steps routed from `aborted` still run."""
        await services.durable.abort(run_id, "" if said is None else said.message, caller.principal)
        return await accepted(services, run_id, caller.principal)

    @router.post("/runs/{run_id}/fork", status_code=202, responses=problems(404, 409, 415), response_model=Accepted)
    async def fork_run(
        run_id: RunId,
        body: Fork,
        request: Request,
        caller: Annotated[Caller, Depends(operator)],
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        """Start a run with the record of a durable one up to a step: also needs the scope `runs:start`."""
        forked = await fork_for(services, run_id, body.at, caller, key=key_of(request))
        return await accepted(services, forked, caller.principal)

    @router.post("/runs/{run_id}/renew", status_code=202, responses=problems(404, 409), response_model=Accepted)
    async def renew_run(run_id: RunId, caller: Annotated[Caller, Depends(operator)]) -> Response:
        """Have a durable run that waits go on with the files as they are now, if it would have come to the same.

        What it waits for it is asked anew. A run that is being performed goes on with the files it has: 409 where those
        are others.
        """
        await services.durable.renew(run_id, caller.principal)
        return await accepted(services, run_id, caller.principal)

    return router
