"""`/api/agents`: the runs that go on, and what they are told."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import JSONResponse, Response

from tuvl.control import ControlAction
from tuvl.server.authentication import Caller
from tuvl.server.problems import JsonRoute
from tuvl.server.routes.callers import caller_with
from tuvl.server.routes.forms import Directed, Instruction, LiveRuns, LiveRunShown, problems
from tuvl.server.services import Services

RunId = Annotated[str, Path(max_length=200, description="Id of the run.")]


def agents_router(services: Services) -> APIRouter:
    """Return the paths."""
    router = APIRouter(prefix="/api/agents", tags=["agents"], route_class=JsonRoute)
    observer, operator = caller_with(services, "agent:observe"), caller_with(services, "agent:control")

    @router.get("", responses=problems(), response_model=LiveRuns)
    async def list_agents(caller: Annotated[Caller, Depends(observer)]) -> Response:
        """List the runs that go on, the newest first; those of other processes on the same store are among them."""
        return JSONResponse({"agents": await services.controlling.live(caller.principal)})

    @router.get("/{run_id}", responses=problems(404), response_model=LiveRunShown)
    async def show_agent(run_id: RunId, caller: Annotated[Caller, Depends(observer)]) -> Response:
        """Show one run that goes on."""
        return JSONResponse(await services.controlling.one(run_id, caller.principal))

    def add(action: ControlAction, does: str) -> None:
        @router.post(
            f"/{{run_id}}/{action}",
            operation_id=f"{action}_agent",
            summary=does,
            responses=problems(404, 409, 415),
            response_model=Directed,
        )
        async def tell(
            run_id: RunId, caller: Annotated[Caller, Depends(operator)], said: Instruction | None = None
        ) -> Response:
            message = "" if said is None else said.message
            return JSONResponse(await services.controlling.tell(run_id, action, message, caller.principal))

    add("pause", "Park the run at its next checkpoint.")
    add("resume", "Let a paused run go on.")
    add("steer", "Tell the agent something before its next model call.")
    add("abort", "End the run; the steps that it routes from `aborted` still run.")
    return router
