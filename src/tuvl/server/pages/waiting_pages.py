"""The pages of what waits for people: the list, one question whole, and the answer to it."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tuvl.errors import InputError
from tuvl.hosting.requests import AnswerRequest, WaitingRun
from tuvl.server.browser_session import Session
from tuvl.server.obstacles import NO_SCOPE
from tuvl.server.pages.asking import Given, WaitCard, card_of, filled_in, value_of
from tuvl.server.pages.looks import shown
from tuvl.server.pages.page import Pages, page, sentence
from tuvl.server.pages.rendering import render
from tuvl.server.pages.view import run_href
from tuvl.server.problems import Problem
from tuvl.values import JsonObject

RunId = Annotated[str, Path(max_length=200)]

_SLOWER = {
    "answer-already-answered": "Somebody was faster",
    "answer-other-question": "It asks for something else by now",
    "answer-too-late": "The time for an answer is over",
    "answer-not-waiting": "It waits no more",
}


_NO_ANSWER: JsonObject = {"": None}
"""Fits nothing that can be asked: whoever sends it learns why an answer to what they were shown counts no more."""


def waiting_pages(pages: Pages) -> APIRouter:
    """Return their paths."""
    router = APIRouter(include_in_schema=False, route_class=pages.route())

    @router.get("/waiting")
    async def waiting(request: Request) -> Response:
        session = await pages.session(request)
        mine, others = await _cards(pages, session)
        return page(render("waiting.html", frame=await pages.frame(session, "waiting"), cards=mine, others=others))

    @router.get("/waiting/live")
    async def waiting_live(request: Request) -> Response:
        session = await pages.session(request)
        mine, others = await _cards(pages, session)
        return page(render("waiting_live.html", cards=mine, others=others))

    @router.get("/waiting/{run_id}")
    async def wait(request: Request, run_id: RunId) -> Response:
        session = await pages.session(request)
        found = await _found(pages, run_id, session)
        if found is None:
            return await _gone(pages, run_id, session)
        return page(await _asked(pages, session, _card(pages, found, session)))

    @router.post("/waiting/{run_id}")
    async def answer(request: Request, run_id: RunId) -> Response:
        session, given = await pages.posted(request, "runs:control")
        found = await _found(pages, run_id, session)
        if found is None and not pages.services.durable.there:
            return await _gone(pages, run_id, session)
        shown_then = found is not None and found.digest == given.get("digest")
        try:
            value = value_of(found, given) if found is not None and shown_then else _NO_ANSWER
            said = AnswerRequest(digest=given.get("digest", ""), value=value, by=session.caller.principal)
            answered = await pages.services.durable.answer(run_id, said)
        except InputError as error:
            assert found is not None
            return await _again(pages, session, found, given, str(error))
        except Problem as problem:
            if problem.kind == "answer-invalid" and found is not None and shown_then:
                return await _again(pages, session, found, given, str(problem.detail))
            return await _refused(pages, session, run_id, problem)
        assert found is not None
        words = f"{_said(found, value)} It was kept as the answer of {shown(answered.by)}, and the run goes on."
        return await _told(pages, session, run_id, "Your answer counts", words)

    return router


async def _cards(pages: Pages, session: Session) -> tuple[list[WaitCard], list[WaitCard]]:
    """Return what waits for the reader, and what waits for others."""
    cards = [_card(pages, wait, session) for wait in await pages.waits(session.caller.principal)]
    return [card for card in cards if not card.obstacle], [card for card in cards if card.obstacle]


def _card(pages: Pages, wait: WaitingRun, session: Session) -> WaitCard:
    card = card_of(wait, session.caller.principal, pages.services.clock.now())
    return card if session.caller.has("runs:control") else card.kept_from(NO_SCOPE)


async def _found(pages: Pages, run_id: str, session: Session) -> WaitingRun | None:
    waits = await pages.waits(session.caller.principal)
    return next((wait for wait in waits if wait.run_id == run_id), None)


async def _asked(pages: Pages, session: Session, card: WaitCard, problem: str = "") -> str:
    return render("wait.html", frame=await pages.frame(session, "waiting"), card=card, problem=problem)


async def _again(pages: Pages, session: Session, wait: WaitingRun, given: Given, problem: str) -> Response:
    """Show the form once more, with what was filled in and what is wrong with it."""
    card = filled_in(_card(pages, wait, session), given)
    return page(await _asked(pages, session, card, sentence(problem)), status=422)


async def _refused(pages: Pages, session: Session, run_id: str, problem: Problem) -> Response:
    """Say why an answer does not count; raises what is no such refusal."""
    if problem.status_code == 404:
        return await _gone(pages, run_id, session)
    if problem.kind == "answer-invalid":  # to what is not on the form
        problem = Problem(409, "answer-other-question", "this run waits for something else by now")
    title = _SLOWER.get(problem.kind)
    if title is None:
        raise problem
    words = f"{sentence(str(problem.detail))} What you said was not used."
    return await _told(pages, session, run_id, title, words, status=409)


async def _gone(pages: Pages, run_id: str, session: Session) -> Response:
    """Say that a run waits for nothing; raises `Problem` for one that is not there."""
    run = await pages.services.reading.run(run_id, session.caller.principal)
    words = f"Run {shown(run_id)} of {shown(run['workflow'])} waits for nobody just now."
    return await _told(pages, session, run_id, "It waits no more", words, status=409)


async def _told(pages: Pages, session: Session, run_id: str, title: str, words: str, *, status: int = 200) -> Response:
    ways = [(run_href(run_id), "The run"), ("/waiting", "What else waits")]
    frame = await pages.frame(session, "waiting")
    return page(render("message.html", frame=frame, title=title, words=words, ways=ways), status=status)


def _said(wait: WaitingRun, value: JsonObject) -> str:
    if wait.kind != "approval":
        return "You have answered."
    tool = shown(wait.asked.get("tool"))
    return f"You have approved the call of {tool}." if value["approved"] else f"You have denied the call of {tool}."
