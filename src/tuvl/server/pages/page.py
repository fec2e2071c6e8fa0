"""What all pages have in common: who looks, what stands around them, and what a failure looks like."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import tuvl
from tuvl.analysis.steps import mapping
from tuvl.errors import TuvlError
from tuvl.hosting.requests import WaitingRun
from tuvl.principal import Principal
from tuvl.redaction import redact
from tuvl.server.admitting import take
from tuvl.server.attending import Admitted
from tuvl.server.browser_session import CSRF_FIELD, SIGN_IN, Session
from tuvl.server.obstacles import obstacle
from tuvl.server.pages.rendering import Frame, render
from tuvl.server.problems import Problem, problem_of
from tuvl.server.services import Services

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Pages load their own files and nothing else; nothing in a page itself is a script or a rule."""

_MOST_FIELDS = 200

_TITLES = {403: "This is not yours to do", 404: "There is nothing here", 409: "This cannot be done now"}


class SignedOut(Exception):
    """Nobody is signed in."""


class Pages:
    """Makes the pages of one server."""

    def __init__(self, services: Services) -> None:
        self.services = services
        name = mapping(mapping(services.project.config).get("metadata")).get("name")
        self._project = name if isinstance(name, str) else services.project.root.resolve().name

    async def session(self, request: Request, scope: str = "runs:read") -> Session:
        """Return who looks; raises `SignedOut` for nobody, `Problem` for one who may not, or asks too often."""
        found = await self.services.sessions.session(request)
        if found is None:
            raise SignedOut
        take(self.services, found.caller.key)
        found.caller.must_have(scope)
        return found

    def admitted(self, request: Request) -> Admitted:
        """Return what tells whether the session of a request goes on."""

        async def admitted() -> bool:
            return await self.services.sessions.session(request) is not None

        return admitted

    async def posted(self, request: Request, scope: str) -> tuple[Session, dict[str, str]]:
        """Return who sent a form, and its fields; raises as `session` does, and for a form of somebody else."""
        session = await self.session(request, scope)
        try:
            text = (await request.body()).decode()
            fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            raise Problem(400, "unreadable", "the form cannot be read") from None
        self.services.sessions.check_post(request, session, fields.get(CSRF_FIELD, ""))
        return session, fields

    async def waits(self, reader: Principal) -> Sequence[WaitingRun]:
        """Return what runs wait for that the reader may see, the oldest first."""
        return await self.services.durable.waits(reader)

    async def frame(self, session: Session | None, here: str = "") -> Frame:
        """Return what stands around a page."""
        if session is None:
            return Frame(project=self._project, version=tuvl.__version__)
        reader = session.caller.principal
        waiting = sum(not obstacle(wait, reader) for wait in await self.waits(reader))
        return Frame(
            project=self._project,
            version=tuvl.__version__,
            who=reader.id,
            csrf=session.csrf,
            here=here,
            waiting=waiting,
        )

    async def failure(self, request: Request, problem: Problem) -> Response:
        """Return the page that tells of a problem."""
        session = await self.services.sessions.session(request)
        text = render(
            "message.html",
            frame=await self.frame(session),
            title=_TITLES.get(problem.status_code, "This did not work"),
            words=redact(sentence(str(problem.detail))),
            ways=[("/runs", "All runs")],
        )
        return page(text, status=problem.status_code, headers=dict(problem.headers or {}))

    def route(self) -> type[APIRoute]:
        """Return the kind of route that answers with pages, whatever happens."""

        class PageRoute(APIRoute):
            def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
                return pages.guarded(super().get_route_handler())

        pages = self
        return PageRoute

    def guarded(
        self, handler: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that turns what is raised into a page."""

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except SignedOut:
                return sign_in_first(request)
            except Problem as problem:
                return await self.failure(request, problem)
            except TuvlError as error:
                return await self.failure(request, problem_of(error))

        return handle


def sign_in_first(request: Request) -> Response:
    """Lead to where one signs in, and back; a part of a page is told that it cannot be had."""
    if request.url.path.endswith("/live") or request.url.path.endswith("/events"):
        return page("", status=401)
    back = request.url.path if request.method == "GET" else "/runs"
    query = f"?{request.url.query}" if request.url.query and request.method == "GET" else ""
    return RedirectResponse(f"{SIGN_IN}?next={quote(back + query, safe='/')}", 303)


def page(text: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a page, with the policy that pages have."""
    own = {"Content-Security-Policy": POLICY, **(headers or {})}
    return Response(text, status, headers=own, media_type="text/html; charset=utf-8")


def sentence(text: str) -> str:
    """Return what a program is told as a sentence for people."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}"
