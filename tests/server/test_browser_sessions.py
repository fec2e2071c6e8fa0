"""Sessions of browsers: a token makes one, a revoked token ends it, and no other page can act in it."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import httpx
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tests.server.server_support import problem, serving, shop
from tuvl.clock import SystemClock
from tuvl.server.browser_session import BrowserSessions
from tuvl.server.ended_sessions import EndedSessions
from tuvl.server.options import ServerOptions
from tuvl.server.problems import install
from tuvl.server.tokens import id_of
from tuvl.testing.clock import ManualClock

SAME = {"Sec-Fetch-Site": "same-origin"}


def page_of(server, sessions=None) -> FastAPI:
    """A small page of a session, as the pages of the server are."""
    sessions = sessions or server.services.sessions
    app = FastAPI()
    install(app)

    @app.get("/who")
    async def who(request: Request) -> Response:
        session = await sessions.must_have(request)
        return PlainTextResponse(f"{session.caller.principal.id} {session.csrf}")

    @app.post("/do")
    async def act(request: Request) -> Response:
        session = await sessions.must_have(request)
        sessions.check_post(request, session, None)
        return PlainTextResponse("done")

    return app


def browser(app: FastAPI, base: str = "http://localhost", **cookies: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base, cookies=cookies)


async def signed_in(server, token: str, **form: str) -> httpx.Response:
    return await server.anyone().post("/login", data={"token": token, **form}, headers=SAME)


def cookie_of(answer: httpx.Response) -> tuple[str, str]:
    found = re.match(r"([^=]+)=([^;]+)", answer.headers["set-cookie"])
    assert found is not None
    return found[1], found[2]


async def test_a_token_makes_a_session_whose_cookie_no_script_and_no_other_site_can_use(tmp_path):
    async with serving(shop(tmp_path)) as server:
        token = await server.token(id="anna")
        answer = await signed_in(server, token, next="/runs/x")
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs/x")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/" in cookie
        assert token not in cookie
        name, value = cookie_of(answer)
        async with browser(page_of(server), **{name: value}) as page:
            assert (await page.get("/who")).text.startswith("anna ")
        problem(await server.anyone(Cookie=f"{name}={value}").get("/api/runs"), 401, "unauthorized")


async def test_behind_https_the_cookie_is_for_https_alone(tmp_path):
    async with serving(shop(tmp_path), public_url="https://agents.example") as server:
        cookie = (await signed_in(server, await server.token())).headers["set-cookie"]
        assert cookie.startswith("__Host-tuvl_session=")
        assert "Secure" in cookie


async def test_a_token_that_opens_nothing_makes_no_session_and_cannot_be_tried_for_ever(tmp_path):
    # Tries come back with time, and a machine that is busy takes some of it for a dozen.
    async with serving(shop(tmp_path), clock=ManualClock()) as server:
        answers = [await signed_in(server, "guess") for _ in range(12)]
        assert answers[0].headers["location"] == "/login?failed=1"
        assert "set-cookie" not in answers[0].headers
        problem(answers[-1], 429, "too-often")
        assert (await signed_in(server, await server.token())).status_code == 303


async def test_after_signing_in_one_is_never_led_to_another_site(tmp_path):
    async with serving(shop(tmp_path)) as server:
        token = await server.token()
        for place in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", ""):
            assert (await signed_in(server, token, next=place)).headers["location"] == "/", place


async def test_a_session_ends_with_its_token_and_with_a_change_of_its_cookie(tmp_path):
    clock = ManualClock()
    async with serving(shop(tmp_path), clock=clock) as server:
        token = await server.token()
        name, value = cookie_of(await signed_in(server, token))
        text, _, mac = value.partition(".")
        other = cookie_of(await signed_in(server, await server.token(id="root")))[1].partition(".")
        altered = f"{mac[:-1]}{'1' if mac[-1] == '0' else '0'}"
        for forged in ("", "x", text, f"{text}.", f"{text}.{altered}", f"{other[0]}.{mac}", f".{mac}", "ü.ü"):
            async with browser(page_of(server)) as page:
                headers = {"Cookie": f"{name}={forged}".encode()}
                assert (await page.get("/who", headers=headers)).status_code == 401, forged
        async with browser(page_of(server), **{name: value}) as page:
            assert (await page.get("/who")).status_code == 200
            await server.services.registry.access.store.access.revoke_token(id_of(token) or "", datetime.now(UTC))
            await clock.advance(1)
            problem(await page.get("/who"), 401, "signed-out")


async def test_sessions_of_one_secret_go_on_in_another_process_and_others_do_not(tmp_path):
    async with serving(shop(tmp_path)) as server:
        made = [sessions_of(server, secret) for secret in ("s" * 32, "s" * 32, "t" * 32, None, None)]
        caller = await server.services.authenticator.of_token(await server.token())
        assert caller is not None
        answer = Response()
        made[0]._set(answer, caller)
        name, value = cookie_of(httpx.Response(200, headers={"set-cookie": answer.headers["set-cookie"]}))
        statuses = []
        for sessions in made:
            async with browser(page_of(server, sessions), **{name: value}) as page:
                statuses.append((await page.get("/who")).status_code)
        assert statuses == [200, 200, 401, 401, 401]


def sessions_of(server, secret: str | None) -> BrowserSessions:
    """Sessions as another process on the same store has them."""
    ended = EndedSessions(server.services.registry.access, clock=SystemClock())
    authenticator = server.services.authenticator
    return BrowserSessions(authenticator, ServerOptions(), ended=ended, secret=secret, clock=SystemClock())


async def test_signing_out_ends_the_session_so_that_a_copy_of_its_cookie_opens_nothing_in_any_process(tmp_path):
    project = shop(tmp_path)
    async with serving(project, settings=replace(project.settings, server_secret="s" * 32)) as server:
        token = await server.token()
        name, value = cookie_of(await signed_in(server, token))
        other = cookie_of(await signed_in(server, token))[1]
        copy = server.anyone(Cookie=f"{name}={value}")
        async with browser(page_of(server, sessions_of(server, "s" * 32)), **{name: value}) as page:
            csrf = (await page.get("/who")).text.split()[1]
        assert (await copy.get("/runs")).status_code == 200
        assert (await copy.post("/logout", data={"csrf": csrf}, headers=SAME)).status_code == 303
        assert (await copy.get("/runs")).headers["location"].startswith("/login")
        async with browser(page_of(server, sessions_of(server, "s" * 32)), **{name: value}) as page:
            problem(await page.get("/who"), 401, "signed-out")
            problem(await page.post("/do", headers={**SAME, "X-CSRF-Token": csrf}), 401, "signed-out")
        assert (await server.anyone(Cookie=f"{name}={other}").get("/runs")).status_code == 200, "it is another session"
        assert (await copy.post("/logout", data={"csrf": csrf}, headers=SAME)).status_code == 303


async def test_what_changes_something_must_come_from_a_page_of_the_same_session(tmp_path):
    async with serving(shop(tmp_path)) as server:
        name, value = cookie_of(await signed_in(server, await server.token()))
        other = cookie_of(await signed_in(server, await server.token(id="other")))[1]
        async with (
            browser(page_of(server), **{name: value}) as page,
            browser(page_of(server), **{name: other}) as second,
        ):
            csrf, theirs = [(await each.get("/who")).text.split()[1] for each in (page, second)]
            good = {"X-CSRF-Token": csrf}
            assert (await page.post("/do", headers={**good, **SAME})).text == "done"
            assert (await page.post("/do", headers={**good, "Origin": "http://localhost"})).text == "done"
            for headers in (
                {**SAME},
                {**SAME, "X-CSRF-Token": theirs},
                {**good, "Sec-Fetch-Site": "cross-site"},
                {**good, "Sec-Fetch-Site": "same-site"},
                {**good, "Origin": "https://evil.example"},
                {**good, "Origin": "null"},
            ):
                problem(await page.post("/do", headers=headers), 403, "forged")


async def test_no_other_site_can_sign_somebody_in_or_out(tmp_path):
    async with serving(shop(tmp_path)) as server:
        token = await server.token()
        cross = {"Sec-Fetch-Site": "cross-site"}
        answer = await server.anyone().post("/login", data={"token": token}, headers=cross)
        problem(answer, 403, "forged")
        name, value = cookie_of(await signed_in(server, token))
        held = {"Cookie": f"{name}={value}"}
        problem(await server.anyone(**held).post("/logout", headers=SAME), 403, "forged")
        async with browser(page_of(server), **{name: value}) as page:
            csrf = (await page.get("/who")).text.split()[1]
        out = await server.anyone(**held).post("/logout", data={"csrf": csrf}, headers=SAME)
        assert (out.status_code, out.headers["location"]) == (303, "/login")
        assert 'tuvl_session=""' in out.headers["set-cookie"]
