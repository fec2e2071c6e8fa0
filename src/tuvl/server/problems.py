"""What callers are told when a request fails: problem details by RFC 9457, without a value, a secret or a traceback."""

import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tuvl.errors import ConfigError, InputError, StepError, TuvlError
from tuvl.hosting.asking import DatabaseAway
from tuvl.redaction import redact
from tuvl.sealing import Unopened
from tuvl.values import JsonObject, JsonValue, dump_json, shorten

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("tuvl.server")


class Problem(HTTPException):
    """The end of a request that cannot be done; `kind` is for programs, `detail` for people."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: JsonObject | None = None,
    ) -> None:
        super().__init__(status, detail, headers=dict(headers or {}))
        self.kind = kind
        self.more = more or {}

    def response(self) -> Response:
        """Return it as it goes out."""
        return problem_response(self.status_code, self.kind, str(self.detail), headers=self.headers, more=self.more)


def problem_response(
    status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, more: JsonObject | None = None
) -> Response:
    """Return problem details as a response."""
    body: JsonObject = {
        "type": f"urn:tuvl:problem:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": redact(detail),
        **(more or {}),
    }
    return Response(dump_json(body).encode(), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def unknown_run(run_id: str) -> Problem:
    """Return what is said of a run that is not there, and of one that is not the caller's to see."""
    return Problem(404, "unknown-run", "there is no such run")


def problem_of(error: TuvlError) -> Problem:
    """Say in HTTP's terms what was raised on purpose."""
    match error:
        case InputError():
            return Problem(422, "input-refused", str(error))
        case Unopened():
            return Problem(409, "encrypted", str(error))
        case StepError() if error.detail.get("fault") == "value":
            return Problem(422, "input-refused", "the request has a value that the store of runs cannot keep")
        case StepError() if error.type.startswith("database"):
            # The message names files and hosts, which are nobody's business outside.
            _log.error("the store of runs failed a request: %s", redact(error.message))
            return Problem(503, "store-unreachable", "the store of runs cannot be used just now", headers=_SOON)
        case DatabaseAway():
            _log.error("a request failed: %s", redact(str(error)))
            said = "the database of durable runs cannot be used just now"
            return Problem(503, "store-unreachable", said, headers=_SOON)
        case ConfigError():
            return Problem(409, "not-runnable", str(error))
        case _:
            return Problem(400, "refused", str(error))


_SOON = {"Retry-After": "5"}


def install(app: FastAPI) -> None:
    """Let every failure of an application be told in one form."""
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(TuvlError, _on_tuvl)
    app.add_exception_handler(ClientDisconnect, _on_left)
    app.add_exception_handler(Exception, _on_fault)


async def _on_http(request: Request, error: Exception) -> Response:
    if isinstance(error, Problem):
        return error.response()
    assert isinstance(error, HTTPException)
    kind, detail = _OWN_WORDS.get(error.status_code, ("refused", HTTPStatus(error.status_code).phrase))
    return problem_response(error.status_code, kind, detail, headers=error.headers)


_OWN_WORDS = {
    400: ("unreadable", "the request cannot be read"),
    404: ("unknown-path", "there is nothing at this path"),
    405: ("wrong-method", "this path does not take this method; see the header Allow"),
}


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return misshapen(error.errors()).response()


def misshapen(found: Sequence[Mapping[str, Any]]) -> Problem:
    """Say what the form of a request lacks, by the errors that pydantic has found."""
    if any(each["type"] == "json_invalid" for each in found):
        return Problem(400, "unreadable", "the body is no JSON")
    errors: list[JsonValue] = [
        {"at": ".".join(str(part) for part in each["loc"]), "message": str(each["msg"])} for each in found[:_MOST]
    ]
    detail = "the request does not have the form it must have"
    return Problem(422, "request-refused", detail, more={"errors": errors})


_MOST = 20


async def _on_tuvl(request: Request, error: Exception) -> Response:
    assert isinstance(error, TuvlError)
    return problem_of(error).response()


async def _on_left(request: Request, error: Exception) -> Response:
    """Answer a client that has left before its body was there: nobody reads it, and nobody is at fault."""
    return problem_response(400, *_OWN_WORDS[400])


async def _on_fault(request: Request, error: Exception) -> Response:
    return fault_response()


def fault_response() -> Response:
    """Return what is said of a mistake of ours."""
    return problem_response(500, "internal", "the server made a mistake; its log says which")


def _fields(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """Return an object; one that says something twice says two things, and who reads it elsewhere takes the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise Problem(400, "unreadable", f"the key {shorten(twice)!r} is given twice in one object")
    return found


class JsonRoute(APIRoute):
    """A path whose body is read as `read_json` reads it, and has to say that it is JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle, takes_body = super().get_route_handler(), self.body_field is not None

        async def handler(request: Request) -> Response:
            request = _JsonRequest(request.scope, request.receive)
            if takes_body and await request.body():
                check_json(request)
            return await handle(request)

        return handler


class _JsonRequest(Request):
    async def json(self) -> JsonValue:
        return read_json(await self.body())


def check_json(request: Request) -> None:
    """Raise `Problem` for a request whose body does not say that it is JSON, as `curl -d` makes it."""
    kind = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Problem(415, "wrong-media-type", "the body must be JSON; say Content-Type: application/json")


def read_json(body: bytes) -> JsonValue:
    """Read the body of a request; raises `Problem` when it is no JSON."""
    try:
        value: JsonValue = json.loads(body, object_pairs_hook=_fields)
    except (ValueError, RecursionError):
        raise Problem(400, "unreadable", "the body is no JSON") from None
    return value
