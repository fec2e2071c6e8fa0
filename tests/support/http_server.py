"""An HTTP server under test control: it says exactly the bytes it is told, on a port of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Answer:
    """One answer. `hang` sends nothing, `drop` closes unanswered, `cut_after` closes after that many bytes of body."""

    body: bytes | str | dict | list = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    cut_after: int | None = None
    stream: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None
    """Writes everything after the headers itself, and then the connection is closed."""

    @property
    def raw(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class HttpServer:
    """Gives queued answers in order, and keeps every request; a request without an answer gets a 599."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[Request] = []
        self.arrived = asyncio.Event()
        self.port = 0
        self.connections = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base of a chat-completions API."""
        return f"{self.origin}/v1"

    @property
    def bodies(self) -> list:
        return [request.json for request in self.requests]

    def queue(self, *answers) -> None:
        """Queue answers: an `Answer`, or the JSON body of a 200."""
        self.answers += [answer if isinstance(answer, Answer) else Answer(body=answer) for answer in answers]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while (request := await self._read(reader)) is not None:
                self.requests.append(request)
                self.arrived.set()
                if not await self._answer(writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        line = (await reader.readline()).decode()
        if not line:
            return None
        method, path, _ = line.split(" ", 2)
        headers: dict[str, str] = {}
        while (text := (await reader.readline()).decode().rstrip("\r\n")) != "":
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(method, path, headers, body)

    async def _answer(self, writer: asyncio.StreamWriter) -> bool:
        fallback = {"error": {"message": "the test queued no answer for this request"}}
        answer = self.answers.pop(0) if self.answers else Answer(status=599, body=fallback)
        if answer.drop:
            return False
        if answer.hang:
            await asyncio.Event().wait()
        raw = answer.raw
        headers = {"content-type": "application/json", **answer.headers}
        if answer.stream is None:
            headers["content-length"] = str(len(raw))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} Whatever\r\n{head}\r\n".encode() + raw[: answer.cut_after])
        await writer.drain()
        if answer.stream is not None:
            await answer.stream(writer)
        return answer.cut_after is None and answer.stream is None

    def close(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()


@asynccontextmanager
async def serving(made: HttpServer | None = None) -> AsyncIterator[HttpServer]:
    """Serve on a free port of the loopback interface."""
    made = made or HttpServer()
    tasks: set[asyncio.Task] = set()

    async def handle(reader, writer) -> None:
        task = asyncio.current_task()
        tasks.add(task)
        try:
            await made.handle(reader, writer)
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
