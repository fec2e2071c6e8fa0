"""Gathers what is known of a run: its record, its events in whatever process, who has it, and what bounds it."""

import asyncio

from tuvl.analysis.scope import Waits
from tuvl.sealing import Unopened
from tuvl.server.authentication import Caller
from tuvl.server.event_log import EventLog
from tuvl.server.pages.bounds import NO_BOUNDS
from tuvl.server.pages.graph import RunGraph, graph_of
from tuvl.server.pages.step_table import Places
from tuvl.server.pages.view import Known
from tuvl.server.services import Services
from tuvl.values import JsonObject


class Gathering:
    """Gathers for one server; workflows are drawn once, since a server runs the files it began with."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._graphs: dict[str, asyncio.Task[RunGraph | None]] = {}

    async def graph(self, workflow: str) -> RunGraph | None:
        """Return the picture of a workflow; `None` when the project has none of that name."""
        drawing = self._graphs.get(workflow)
        if drawing is None:
            if workflow not in self._services.project.named("Workflow"):
                return None
            drawing = self._graphs[workflow] = asyncio.create_task(self._draw(workflow))
        return await asyncio.shield(drawing)

    async def _draw(self, workflow: str) -> RunGraph | None:
        project, settings = self._services.project, self._services.settings
        document = project.workflow(workflow)
        if document is None:
            return None
        waits = Waits(tool_s=settings.agent_tool_timeout_s, judge_s=settings.agent_judge_timeout_s)
        # A large workflow takes a while, and other requests go on meanwhile.
        return await asyncio.to_thread(graph_of, document, project, waits)

    async def run(self, run_id: str, caller: Caller) -> tuple[Known, RunGraph | None]:
        """Return what is known of a run, and its picture; raises `Problem` when it is not the caller's to see."""
        services = self._services
        row = await services.reading.run(run_id, caller.principal)
        info = await services.registry.get(run_id, caller.principal)
        workflow = str(row["workflow"])
        graph = await self.graph(workflow)
        log = await self._log(run_id, row, caller)
        known = Known(
            run_id=run_id,
            workflow=workflow,
            row=row,
            following=None if log is None or log.following.last_seq < 0 else log.following,
            followed=log is not None,
            live=info is not None and info.alive,
            paused=info is not None and info.paused,
            bounds=graph.bounds if graph is not None else NO_BOUNDS,
            places=graph.places if graph is not None else Places(),
        )
        return known, graph

    async def _log(self, run_id: str, row: JsonObject, caller: Caller) -> EventLog | None:
        """Return the events of a run, as far as they are known here; `None` for one that cannot be followed."""
        services = self._services
        live = services.live.find(run_id, caller.principal)
        try:
            return live.log if live is not None else await services.durable.followed(row)
        except Unopened:
            return None  # its events are encrypted, and not for this process
