"""An APICall's reply → a JSON value, and the context keys it sets. What a server gets wrong is no exception."""

import codecs
import json

from tuvl.errors import StepError
from tuvl.http.message import HttpReply
from tuvl.spec.kinds import ToolResponse
from tuvl.values import JsonObject, JsonValue, NotJsonError, copy_json, dig, to_json


def read_value(reply: HttpReply) -> JsonValue:
    """Read a body: JSON where it says or shows that it is, else text by its charset, `null` when there is none."""
    body = reply.body
    if not body:
        return None
    media_type = reply.media_type
    if not media_type or media_type == "application/json" or media_type.endswith("+json"):
        try:
            return to_json(json.loads(_text(body, None), parse_constant=_refuse), where="the response")
        except (ValueError, RecursionError, NotJsonError):
            pass  # an HTML error page under a JSON type, say: the text is more use than a failed step
    return _text(body, reply.charset)


def delta_of(value: JsonValue, response: ToolResponse, *, inside: JsonValue = None) -> JsonObject:
    """Take out what the step asks for; raises `StepError` naming the path that is not there.

    Paths are followed `inside` another form of the value, when one is given.
    """
    delta: JsonObject = {}
    if response.output_key is not None:
        delta[response.output_key] = value
    for wanted in response.extract:
        try:
            delta[wanted.as_] = copy_json(dig(value if inside is None else inside, wanted.path.split(".")))
        except KeyError as error:
            raise StepError(
                f"the response has no {wanted.path!r}: nothing at {str(error.args[0])!r}", type="bad_response"
            ) from None
    return delta


def expected(status: int, accepted: tuple[int | str, ...]) -> bool:
    """Whether a status is one of these: numbers, or classes such as `2xx`."""
    return any(item == status or item == f"{status // 100}xx" for item in accepted)


def _text(body: bytes, charset: str | None) -> str:
    if body.startswith(codecs.BOM_UTF8):
        return body[len(codecs.BOM_UTF8) :].decode(errors="replace")
    if charset is not None:
        try:
            return body.decode(charset, errors="replace")
        except (LookupError, ValueError):
            pass  # an unknown charset says nothing
    try:
        return body.decode()
    except UnicodeDecodeError:
        # Bytes that are not UTF-8 and name no charset: every byte has a character here, so nothing is lost.
        return body.decode("latin-1")


def _refuse(constant: str) -> float:
    raise ValueError(constant)
