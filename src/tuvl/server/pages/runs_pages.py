"""The pages of runs: the list, one run, and what it is told."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Path, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tuvl.control import ControlAction
from tuvl.data.run_rows import Rows, RunFilter, TraceFilter
from tuvl.dataclass import dataclass
from tuvl.principal import Principal
from tuvl.server.authentication import Caller
from tuvl.server.pages.asking import WaitCard, card_of
from tuvl.server.pages.known import Gathering
from tuvl.server.pages.looks import read_moment, run_look, shown
from tuvl.server.pages.page import Pages, page
from tuvl.server.pages.rendering import render
from tuvl.server.pages.transcript import talk_entry
from tuvl.server.pages.view import RunLine, RunView, run_href, run_line, run_view
from tuvl.server.problems import Problem
from tuvl.server.routes.watching import watched
from tuvl.server.services import Services
from tuvl.supervision.runs import RunInfo
from tuvl.values import JsonObject

PER_PAGE = 40
"""Runs on one page of the list."""

PER_PART = 60
"""Entries of a transcript on one page; each may hold a long text."""

LONGEST_MESSAGE = 8192
"""Characters of what a run is told."""

_STATUSES = ("running", "queued", "suspended", "completed", "failed", "aborted")

_TOLD = {
    "pause-applied": "The run is paused: it begins nothing more until it is resumed.",
    "resume-applied": "The run goes on.",
    "steer-applied": "The run was told. It passes it on before its next model call.",
    "abort-applied": "The run was told to stop.",
    "pause-pending": "That is kept. The run pauses as soon as its process looks.",
    "resume-pending": "That is kept. The run goes on as soon as its process looks.",
    "steer-pending": "That is kept. The run is told as soon as its process looks.",
    "abort-pending": "That is kept. The run stops as soon as its process looks.",
    "pause-void": "That changed nothing: the run had ended before.",
    "resume-void": "That changed nothing: the run had ended before.",
    "steer-void": "That changed nothing: the run had ended before.",
    "abort-void": "That changed nothing: the run had ended before.",
}

RunId = Annotated[str, Path(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    """The list of runs."""

    runs: tuple[RunLine, ...]
    live: str
    """Where its part is found that changes."""
    statuses: tuple[tuple[str, str], ...]
    status: str
    workflows: tuple[str, ...]
    workflow: str
    mine: bool
    newer: str
    older: str

    @property
    def filtered(self) -> bool:
        """Whether not all runs are asked for."""
        return bool(self.status or self.workflow or self.mine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the list is asked for."""

    status: str = ""
    workflow: str = ""
    mine: bool = False
    before: str = ""

    def query(self, before: str) -> str:
        """Return it as the query of an address, of the page of the list behind a run."""
        said = {
            "status": self.status,
            "workflow": self.workflow,
            "mine": "1" if self.mine else "",
            "before": before,
        }
        return urlencode({name: value for name, value in said.items() if value})

    def filter(self, reader_id: str) -> RunFilter:
        """Return it as the store of runs takes it; one more than a page tells whether there is another one."""
        at, _, run_id = self.before.partition("~")
        began = read_moment(at)
        return RunFilter(
            workflow=self.workflow or None,
            status=self.status or None,
            principal=reader_id if self.mine else None,
            before=(began, run_id) if began is not None and began.tzinfo is not None else None,
            limit=PER_PAGE + 1,
        )


def runs_pages(pages: Pages) -> APIRouter:
    """Return their paths."""
    router = APIRouter(include_in_schema=False, route_class=pages.route())
    gathering = Gathering(pages.services)

    @router.get("/")
    async def home(request: Request) -> Response:
        return RedirectResponse("/runs", 303)

    @router.get("/runs")
    async def runs(request: Request) -> Response:
        session = await pages.session(request)
        listed = await _listed(pages, _asked(request), session.caller)
        return page(render("runs.html", frame=await pages.frame(session, "runs"), page=listed))

    @router.get("/runs/live")
    async def runs_live(request: Request) -> Response:
        session = await pages.session(request)
        return page(render("runs_live.html", page=await _listed(pages, _asked(request), session.caller)))

    @router.get("/runs/{run_id}")
    async def run(request: Request, run_id: RunId, told: Annotated[str, Query(max_length=40)] = "") -> Response:
        session = await pages.session(request)
        known, graph = await gathering.run(run_id, session.caller)
        view = run_view(known, pages.services.clock.now())
        text = render(
            "run.html",
            frame=await pages.frame(session, "runs"),
            run=view,
            controls=_controls(pages, view, session.caller),
            waits=await _cards(pages, run_id, session.caller),
            graph="" if graph is None else graph.marked(view.states),
            told=_TOLD.get(told, ""),
            may_observe=session.caller.has("agent:observe"),
        )
        return page(text)

    @router.get("/runs/{run_id}/live")
    async def run_live(request: Request, run_id: RunId) -> Response:
        session = await pages.session(request)
        known, _ = await gathering.run(run_id, session.caller)
        view = run_view(known, pages.services.clock.now())
        text = render(
            "run_live.html",
            csrf=session.csrf,
            run=view,
            controls=_controls(pages, view, session.caller),
            waits=await _cards(pages, run_id, session.caller),
        )
        return page(text)

    @router.get("/runs/{run_id}/events")
    async def events(
        request: Request, run_id: RunId, last_event_id: Annotated[str | None, Header(max_length=100)] = None
    ) -> Response:
        session = await pages.session(request)
        admitted = pages.admitted(request)
        return await watched(pages.services, run_id, session.caller, last_id=last_event_id, admitted=admitted)

    @router.get("/runs/{run_id}/transcript")
    async def transcript(
        request: Request, run_id: RunId, part: Annotated[int | None, Query(ge=1, le=1_000_000)] = None
    ) -> Response:
        session = await pages.session(request, "agent:observe")
        session.caller.must_have("runs:read")
        principal = session.caller.principal
        row = await pages.services.reading.run(run_id, principal)
        entries = await pages.services.reading.trace(run_id, TraceFilter(), principal)
        parts = max(1, -(-len(entries) // PER_PART))
        # Without a number it is the last part: what happened just now.
        part = min(part or parts, parts)
        text = render(
            "transcript.html",
            frame=await pages.frame(session, "runs"),
            run_id=run_id,
            run_href=run_href(run_id),
            workflow=shown(row["workflow"]),
            entries=[talk_entry(entry) for entry in entries[(part - 1) * PER_PART : part * PER_PART]],
            part=part,
            parts=parts,
        )
        return page(text)

    def add(action: ControlAction) -> None:
        @router.post(f"/runs/{{run_id}}/{action}")
        async def tell(request: Request, run_id: RunId) -> Response:
            session, fields = await pages.posted(request, "runs:read")
            outcome = await _tell(pages, run_id, action, fields.get("message", "").strip(), session.caller)
            return RedirectResponse(f"{run_href(run_id)}?told={action}-{outcome}", 303)

    add("pause")
    add("resume")
    add("steer")
    add("abort")
    return router


def _asked(request: Request) -> Asked:
    said = request.query_params
    status = said.get("status", "")
    return Asked(
        status=status if status in _STATUSES else "",
        workflow=said.get("workflow", "")[:200],
        mine=said.get("mine") == "1",
        before=said.get("before", "")[:300],
    )


async def _listed(pages: Pages, asked: Asked, caller: Caller) -> RunsPage:
    services, reader = pages.services, caller.principal
    rows = await services.reading.runs(asked.filter(reader.id), reader)
    live = {info.run_id: info for info in await services.registry.live(reader) if info.alive}
    now = services.clock.now()
    lines = tuple(_line(row, live, now) for row in rows[:PER_PAGE])
    older = ""
    if len(rows) > PER_PAGE:
        last = rows[PER_PAGE - 1]
        older = "/runs?" + asked.query(f"{last['started_at']}~{last['run_id']}")
    newest = asked.query("")
    return RunsPage(
        runs=lines,
        live=f"/runs/live?{asked.query(asked.before)}",
        statuses=tuple((each, run_look(each).word) for each in _STATUSES),
        status=asked.status,
        workflows=_workflows(services, asked, rows, reader),
        workflow=asked.workflow,
        mine=asked.mine,
        newer=(f"/runs?{newest}" if newest else "/runs") if asked.before else "",
        older=older,
    )


def _workflows(services: Services, asked: Asked, rows: Rows, reader: Principal) -> tuple[str, ...]:
    """Return the workflows to choose from: those that the reader may start, and those of the runs that are shown."""
    seen = {str(row["workflow"]) for row in rows}
    return tuple(sorted(services.catalogue.names_for(reader) | seen | ({asked.workflow} if asked.workflow else set())))


def _line(row: JsonObject, live: dict[str, RunInfo], now: datetime) -> RunLine:
    info = live.get(str(row["run_id"]))
    return run_line(row, paused=info is not None and info.paused, live=info is not None, now=now)


async def _cards(pages: Pages, run_id: str, caller: Caller) -> list[WaitCard]:
    now = pages.services.clock.now()
    waits = await pages.waits(caller.principal)
    return [card_of(wait, caller.principal, now) for wait in waits if wait.run_id == run_id]


def _controls(pages: Pages, view: RunView, caller: Caller) -> tuple[str, ...]:
    """Return what the caller may tell the run; one that waits can be stopped where durable runs are."""
    if view.live:
        return view.controls if caller.has("agent:control") else ()
    waits = view.moving and pages.services.durable.there and caller.has("runs:control")
    return ("abort",) if waits else ()


async def _tell(pages: Pages, run_id: str, action: ControlAction, message: str, caller: Caller) -> str:
    """Tell a run something; returns what became of it: `applied`, `pending` or `void`."""
    services = pages.services
    if len(message) > LONGEST_MESSAGE:
        raise Problem(422, "message-too-long", f"the message has more than {LONGEST_MESSAGE:,} characters")
    await services.reading.run(run_id, caller.principal)
    info = await services.registry.get(run_id, caller.principal)
    if info is not None and info.alive:
        caller.must_have("agent:control")
        told = await services.controlling.tell(run_id, action, message, caller.principal)
        return str(told["outcome"])
    if action == "abort":
        caller.must_have("runs:control")
        await services.durable.abort(run_id, message, caller.principal)
        return "pending"
    raise Problem(409, "has-ended", "no process has this run just now, so that there is nobody to tell")
