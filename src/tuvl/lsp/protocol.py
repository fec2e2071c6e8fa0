"""What the protocol asks of every message, whatever it is about: each request gets an answer, if only a refusal."""

import logging
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
    PyglsError,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from tuvl.dataclass import dataclass

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of one message; an editor's texts are far below it."""
_LONGEST_HEADER = 64 * 1024
_BEGINNING = frozenset({types.INITIALIZE, types.EXIT})


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that is none of the protocol."""

    id: str | int | None
    """Whom to answer; `None` for one that waits for nothing."""
    method: str | None

    @property
    def refusal(self) -> JsonRpcException:
        """What is answered."""
        if self.method is None:
            return JsonRpcInvalidRequest("this is no message of JSON-RPC 2.0")
        return JsonRpcInvalidParams(f"the parameters of {self.method!r} are not as the protocol has them")


class Protocol(LanguageServerProtocol):
    """Reads messages, and refuses those that cannot be read or come at the wrong time."""

    _begun = False

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make a message of a JSON object; called for every object in a message, of which most are none."""
        if "jsonrpc" not in data:
            return data
        whole = data
        if "method" in data and "params" not in data and self.get_message_type(str(data["method"])) is None:
            whole = {**data, "params": None}
        try:
            return super().structure_message(whole)
        except JsonRpcException:
            number, method = data.get("id"), data.get("method")
            return Unreadable(
                number if isinstance(number, str | int) and not isinstance(number, bool) else None,
                method if isinstance(method, str) else None,
            )

    def handle_message(self, message: Any) -> None:
        """Hand a message on, or refuse it."""
        if isinstance(message, dict | list | str | int | float | bool) or message is None:
            message = Unreadable(None, None)
        method = getattr(message, "method", None)
        refusal = message.refusal if isinstance(message, Unreadable) else self._out_of_order(method)
        if refusal is None:
            self._begun = self._begun or method == types.INITIALIZE
            super().handle_message(message)
        elif (number := getattr(message, "id", None)) is not None or method is None:
            self.refuse(refusal, number)
        elif isinstance(message, Unreadable):
            logging.getLogger(__name__).warning("a notification %r is passed over: it cannot be read", method)

    def refuse(self, refusal: JsonRpcException, number: str | int | None = None) -> None:
        """Answer a request with a refusal; without its number, what could not be told to be one."""
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": refusal.to_response_error()})

    def _out_of_order(self, method: object) -> JsonRpcException | None:
        """Say why a message cannot be taken now."""
        if method is None or method == types.EXIT:
            return None
        if not self._begun and method not in _BEGINNING:
            return JsonRpcServerNotInitialized("the editor has not said `initialize` yet")
        if self._shutdown:
            return JsonRpcInvalidRequest("the server was told to shut down")
        if self._begun and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already")
        return None


class Server(LanguageServer):
    """A server that tells of what it cannot read where it is asked, and nowhere else."""

    protocol: Protocol

    def __init__(self, version: str) -> None:
        super().__init__("tuvl", version, protocol_cls=Protocol)

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Take note of what went wrong outside of a request."""
        if source is JsonRpcException:
            self.protocol.refuse(JsonRpcParseError("this is no JSON"))
        else:
            super().report_server_error(error, source)


class Incoming:
    """The editor's messages as bytes; one that is larger than any message ends them."""

    def __init__(self, stream: BinaryIO, say: Callable[[str], object]) -> None:
        self._stream = stream
        self._say = say
        self.was_cut = False
        """Whether it was ended so."""

    def readline(self) -> bytes:
        """Read a line of a header."""
        line = self._stream.readline(_LONGEST_HEADER)
        return self._cut("a header without an end") if len(line) == _LONGEST_HEADER else line

    def read(self, size: int) -> bytes:
        """Read a message."""
        return self._cut(f"a message of {size:,} bytes") if size > MOST_BYTES else self._stream.read(size)

    def _cut(self, what: str) -> bytes:
        self.was_cut = True
        self._say(f"{what} is announced, and a message has {MOST_BYTES:,} bytes at most; the server ends")
        return b""


def is_unreadable(record: logging.LogRecord) -> bool:
    """Whether a line of the library's log tells of a message that is refused, which is told to the editor."""
    return str(record.msg).startswith(("Unable to deserialize message", "Unable to handle message"))


def is_gone(process: int) -> bool:
    """Whether a process has ended; where that cannot be asked, it has not."""
    if os.name != "posix" or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
