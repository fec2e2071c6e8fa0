"""What LiteLLM raises, taken apart: the provider's words, the causes below, what kind of trouble it was."""

import re
from datetime import datetime

from tuvl.errors import ModelError
from tuvl.http.retry_after import parse_retry_after
from tuvl.llm.failures import bad_response, not_json


def own_words(error: Exception) -> str:
    """Return the provider's words without LiteLLM's names around them."""
    text = str(getattr(error, "message", None) or error)
    for _ in range(3):
        head, mark, rest = text.partition(": ")
        if mark and head.startswith("litellm."):
            text = rest
    head, mark, rest = text.partition(" - ")
    text = rest if mark and head.endswith("Exception") else text
    text = text.partition("Traceback (most recent call last)")[0].strip()
    return "" if _BARE_STATUS.fullmatch(text) else text


_BARE_STATUS = re.compile(r"Error code: \d+")
"""What the OpenAI client says of an error page, beside the status that is said already."""

_ODD_BODY = "Empty or invalid response from LLM endpoint. Received: "
"""How LiteLLM begins to say that a body was no JSON object; then comes the body as Python writes it."""

_NO_CHOICES = re.compile(r"provider returned .*'choices'")


def no_reply(model: str, text: str, chain: dict[str, BaseException]) -> ModelError | None:
    """Return the failure for a successful answer that was no reply, as the direct lane tells it; `None` for others."""
    body = text.removeprefix(_ODD_BODY)
    if body != text:
        if body[:1] in "'\"":
            return not_json(model, body[:100], status=200)
        return bad_response(model, "the reply is not a JSON object", status=200)
    if _NO_CHOICES.search(text):
        return bad_response(model, "the reply holds no choice", status=200)
    broken = chain.get("JSONDecodeError")
    if broken is None:
        return None
    return not_json(model, str(getattr(broken, "doc", ""))[:100], status=200)


def causes(error: BaseException) -> dict[str, BaseException]:
    """Return the causes of an error by the name of their class."""
    found: dict[str, BaseException] = {}
    seen: BaseException | None = error
    while seen is not None and len(found) < 12:
        found.setdefault(type(seen).__name__, seen)
        seen = seen.__cause__ or seen.__context__
    return found


ANSWERED = "HTTPStatusError"
"""In the chain of every error that a provider's own answer caused."""

NETWORK = frozenset(
    {
        "ClientConnectorError",
        "ConnectError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "ReadError",
        "RemoteProtocolError",
        "ServerDisconnectedError",
        "WriteError",
    }
)

UNCONNECTED = frozenset({"ClientConnectorError", "ConnectError", "ConnectionRefusedError"})
"""Those of them with which nothing was sent."""

ENDED_EARLY = "Stream ended before a finish_reason"
"""How LiteLLM says that a stream broke off without an error."""

UNREADABLE = frozenset(
    {"AttributeError", "IndexError", "JSONDecodeError", "KeyError", "TypeError", "ValidationError", "ValueError"}
)


def retry_after(error: Exception, now: datetime) -> float | None:
    """Return the seconds that the provider asked to wait; `None` when it named none."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return parse_retry_after(headers.get("retry-after"), now=now) if headers is not None else None
