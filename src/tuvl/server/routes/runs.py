"""`/api/runs` and `/api/workflows`: start runs, read them, watch them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tuvl.server.authentication import Caller
from tuvl.server.problems import JsonRoute
from tuvl.server.routes.answers import answer_start, key_of, mode_of
from tuvl.server.routes.callers import caller_with
from tuvl.server.routes.forms import (
    STREAM,
    Absent,
    Accepted,
    IdempotencyKey,
    ResultDocument,
    RunList,
    RunsAsked,
    RunShown,
    StartRequest,
    Trace,
    TraceAsked,
    WorkflowList,
    problems,
)
from tuvl.server.routes.watching import watched
from tuvl.server.services import Services
from tuvl.server.starting import Order

RunId = Annotated[str, Path(max_length=200, description="Id of the run.")]


def runs_router(services: Services) -> APIRouter:
    """Return the paths."""
    router = APIRouter(prefix="/api", tags=["runs"], route_class=JsonRoute)
    starter, reader = caller_with(services, "runs:start"), caller_with(services, "runs:read")

    @router.get("/workflows", responses=problems(), response_model=WorkflowList)
    async def list_workflows(caller: Annotated[Caller, Depends(reader)]) -> Response:
        """List the workflows that can be started."""
        found = [each.to_json() for each in services.catalogue.workflows.values() if each.is_for(caller.principal)]
        return JSONResponse({"workflows": found})

    @router.post(
        "/runs",
        response_model=None,
        responses={
            200: {"description": "The result of the run, or its events.", "model": ResultDocument, "content": STREAM},
            202: {"description": "The run goes on, or waits for somebody.", "model": Accepted | ResultDocument},
            **problems(404, 409, 415),
        },
    )
    async def start_run(
        body: StartRequest,
        request: Request,
        caller: Annotated[Caller, Depends(starter)],
        idempotency_key: IdempotencyKey = None,
        prefer: Annotated[
            str | Absent, Header(description="Without `mode`, `respond-async` is for `detached`.")
        ] = None,
    ) -> Response:
        """Start a run.

        A client of `sync` and `stream` that leaves ends the run.
        """
        order = Order(
            offered=services.catalogue.named(body.workflow, caller.principal),
            input=body.input,
            mode=mode_of(request, body.mode if "mode" in body.model_fields_set else None),
            principal=caller.principal,
            durable=body.durable,
            timeout_s=body.timeout_s,
            trace=body.trace,
            key=key_of(request),
        )
        return await answer_start(services, request, order, caller)

    @router.get("/runs", responses=problems(), response_model=RunList)
    async def list_runs(caller: Annotated[Caller, Depends(reader)], asked: Annotated[RunsAsked, Query()]) -> Response:
        """List the runs on record, the newest first."""
        return JSONResponse({"runs": list(await services.reading.runs(asked.to_filter(), caller.principal))})

    @router.get("/runs/{run_id}", responses=problems(404), response_model=RunShown)
    async def show_run(run_id: RunId, caller: Annotated[Caller, Depends(reader)]) -> Response:
        """Show one run, with its result when it has one."""
        return JSONResponse(await services.reading.run(run_id, caller.principal))

    @router.get("/runs/{run_id}/trace", responses=problems(404), response_model=Trace)
    async def trace_run(
        run_id: RunId, caller: Annotated[Caller, Depends(reader)], asked: Annotated[TraceAsked, Query()]
    ) -> Response:
        """Show what was said and done in a run: also needs the scope `agent:observe`."""
        caller.must_have("agent:observe")
        entries = await services.reading.trace(run_id, asked.to_filter(), caller.principal)
        return JSONResponse({"entries": list(entries)})

    @router.get(
        "/runs/{run_id}/events",
        response_model=None,
        responses={200: {"description": "Events of the run.", "content": STREAM}, **problems(404, 409)},
    )
    async def watch_run(
        run_id: RunId,
        caller: Annotated[Caller, Depends(reader)],
        last_event_id: Annotated[str | Absent, Header(max_length=100, description="Go on behind this event.")] = None,
    ) -> Response:
        """Watch a run.

        The words of its models need the scope `agent:observe` besides, unless it is the caller's own.
        """
        return await watched(services, run_id, caller, last_id=last_event_id)

    return router
