"""The paths of the pages; each asks `services.sessions` who its reader is."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tuvl.server.browser_session import HOME, SIGN_IN
from tuvl.server.pages.page import Pages, page
from tuvl.server.pages.rendering import asset, render
from tuvl.server.pages.runs_pages import runs_pages
from tuvl.server.pages.waiting_pages import waiting_pages
from tuvl.server.problems import Problem
from tuvl.server.services import Services

_FOR_EVER = "public, max-age=31536000, immutable"


def pages_routers(services: Services) -> list[APIRouter]:
    """Return the paths of the pages."""
    pages = Pages(services)
    router = APIRouter(include_in_schema=False, route_class=pages.route())

    @router.get(SIGN_IN)
    async def sign_in(
        request: Request,
        next: Annotated[str, Query(max_length=2000)] = HOME,
        failed: Annotated[str, Query(max_length=10)] = "",
    ) -> Response:
        if await services.sessions.session(request) is not None:
            return RedirectResponse(HOME, 303)
        problem = "This token opens nothing here. It may be mistyped, revoked or expired." if failed else ""
        text = render("sign_in.html", frame=await pages.frame(None), problem=problem, next=next)
        return page(text)

    @router.get("/assets/{name}")
    async def file(request: Request, name: str, v: Annotated[str, Query(max_length=40)] = "") -> Response:
        found = asset(name)
        if found is None:
            raise Problem(404, "unknown-path", "there is nothing at this path")
        kept = {"Cache-Control": _FOR_EVER} if v == found.digest else {}
        return Response(found.content, headers=kept, media_type=found.media_type)

    return [router, runs_pages(pages), waiting_pages(pages)]
