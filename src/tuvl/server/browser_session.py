"""Sessions of browsers: a token is shown once, in a form, and stands for by a signed cookie from then on.

The cookie holds no token. Of an API token it holds the id, so that one that is revoked ends its sessions at once; of a
JSON Web Token who it is of, until it expires. Whoever signs out ends the session itself: a copy of its cookie opens
nothing any more. Pages that change something ask for the session's CSRF token besides. The API itself takes no cookies.
"""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.principal import Principal
from tuvl.server.authentication import Authenticator, Caller
from tuvl.server.ended_sessions import EndedSessions
from tuvl.server.limits import RateLimiter
from tuvl.server.options import ServerOptions
from tuvl.server.problems import Problem
from tuvl.values import JsonObject, JsonValue, dump_json

LASTS = timedelta(hours=12)
"""How long a session lasts at most."""

SIGN_IN = "/login"
"""Where the form is, and where it goes."""

SIGN_OUT = "/logout"

HOME = "/"
"""Where one is after signing in, when the form does not say."""

_TOKEN = "token"
_NEXT = "next"
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf-token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that has signed in."""

    id: str
    caller: Caller
    csrf: str
    """What forms and scripts of its pages have to send along with every POST."""
    until: datetime
    """When it is over by itself."""


class BrowserSessions:
    """Makes, reads and ends sessions; of them only those are kept on the server that were ended."""

    def __init__(
        self,
        authenticator: Authenticator,
        options: ServerOptions,
        *,
        ended: EndedSessions,
        secret: str | None,
        clock: Clock,
    ) -> None:
        """Sign with `secret`; without one, with one that ends with the process."""
        self._authenticator = authenticator
        self._ended = ended
        self._key = hashlib.sha256(secret.encode()).digest() if secret else secrets.token_bytes(32)
        self._clock = clock
        self._secure = (options.public_url or "").startswith("https://")
        self._tries = RateLimiter(rate=1.0, burst=10, clock=clock)
        # With this prefix no other host of the same domain can plant a cookie of the name.
        self.cookie_name = "__Host-tuvl_session" if self._secure else "tuvl_session"

    async def session(self, request: Request) -> Session | None:
        """Return the session that a request belongs to; `None` when there is none, or it is over."""
        data = self._read(request.cookies.get(self.cookie_name, ""))
        if data is None:
            return None
        id, token_id = str(data["sid"]), data.get("tok")
        if isinstance(token_id, str):
            caller = await self._authenticator.of_token_id(token_id)
        else:
            caller = _caller_of(data)
        if caller is None or await self._ended.has(id):
            return None
        until = datetime.fromtimestamp(cast(float, data["exp"]), UTC)
        return Session(id=id, caller=caller, csrf=self._csrf(id), until=until)

    async def must_have(self, request: Request) -> Session:
        """Return the session of a request; raises `Problem` without one."""
        found = await self.session(request)
        if found is None:
            raise Problem(401, "signed-out", "sign in first")
        return found

    def check_post(self, request: Request, session: Session, given: str | None) -> None:
        """See that a POST comes from a page of this session; `given` is its form's field. Raises `Problem`."""
        said = given if given is not None else request.headers.get(CSRF_HEADER, "")
        if not is_same_origin(request) or not hmac.compare_digest(said.encode(), session.csrf.encode()):
            raise Problem(403, "forged", "this does not come from a page of your session; load the page again")

    async def sign_in(self, request: Request) -> Response:
        """Take the form: a good token makes a session, and leads to where the form says."""
        if not is_same_origin(request):
            raise Problem(403, "forged", "this does not come from the page where one signs in")
        form = await _form(request)
        caller = await self._authenticator.of_token(form.get(_TOKEN, "").strip())
        if caller is None:
            wait = self._tries.take(request.client.host if request.client else "")
            if wait > 0:
                raise Problem(429, "too-often", "too many tries", headers={"Retry-After": str(int(wait) + 1)})
            return RedirectResponse(f"{SIGN_IN}?failed=1", 303)
        answer = RedirectResponse(_own_path(form.get(_NEXT, HOME)), 303)
        self._set(answer, caller)
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the session of a request."""
        session = await self.session(request)
        if session is not None:
            form = await _form(request)
            self.check_post(request, session, form.get(CSRF_FIELD))
            await self._ended.add(session.id, until=session.until)
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(self.cookie_name, path="/", secure=self._secure, httponly=True, samesite="strict")
        return answer

    def _set(self, answer: Response, caller: Caller) -> None:
        until = self._clock.now() + LASTS
        if caller.expires_at is not None:
            until = min(until, caller.expires_at)
        data: JsonObject = {"sid": secrets.token_urlsafe(16), "exp": until.timestamp()}
        if caller.token_id is not None:
            data["tok"] = caller.token_id
        else:
            who = caller.principal
            data["who"] = {
                "id": who.id,
                "tenant": who.tenant,
                "groups": list[JsonValue](sorted(who.groups)),
                "scopes": list[JsonValue](sorted(who.scopes)),
            }
        answer.set_cookie(
            self.cookie_name,
            self._signed(data),
            max_age=max(1, int((until - self._clock.now()).total_seconds())),
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )

    def _signed(self, data: JsonObject) -> str:
        text = base64.urlsafe_b64encode(dump_json(data).encode()).decode().rstrip("=")
        return f"{text}.{self._mac('session', text)}"

    def _read(self, cookie: str) -> JsonObject | None:
        text, _, mac = cookie.partition(".")
        if not hmac.compare_digest(mac.encode(), self._mac("session", text).encode()):
            return None
        data = cast(JsonObject, json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
        return data if self._clock.now().timestamp() < cast(float, data["exp"]) else None

    def _csrf(self, id: str) -> str:
        return self._mac("csrf", id)

    def _mac(self, use: str, text: str) -> str:
        return hmac.new(self._key, f"{use}:{text}".encode(), hashlib.sha256).hexdigest()


def _caller_of(data: JsonObject) -> Caller:
    who = cast(dict[str, JsonValue], data["who"])
    principal = Principal(
        id=str(who["id"]),
        tenant=cast(str | None, who["tenant"]),
        groups=frozenset(cast(list[str], who["groups"])),
        scopes=frozenset(cast(list[str], who["scopes"])),
    )
    return Caller(principal=principal, expires_at=datetime.fromtimestamp(cast(float, data["exp"]), UTC))


def is_same_origin(request: Request) -> bool:
    """Whether a browser says that a request comes from a page of this server; browsers say it with every POST."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or _netloc(origin) == request.headers.get("host")


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form; one that cannot be read has none."""
    try:
        return dict(parse_qsl((await request.body()).decode("utf-8", "replace"), max_num_fields=10))
    except ValueError:
        return {}


def _netloc(url: str) -> str | None:
    """Return host and port of an address; `None` for what is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def _own_path(text: str) -> str:
    """Return where to go, when that is a path of this server; else home."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return HOME
    safe = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if safe and not parts.scheme and not parts.netloc else HOME


def session_router(sessions: BrowserSessions) -> APIRouter:
    """Return the paths where one signs in and out; the form itself is a page."""
    router = APIRouter(include_in_schema=False)

    @router.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        return await sessions.sign_in(request)

    @router.post(SIGN_OUT)
    async def sign_out(request: Request) -> Response:
        return await sessions.sign_out(request)

    return router
