"""A streamable HTTP server of MCP under test control: it forgets sessions, refuses, and breaks off when told to."""

import json
from dataclasses import dataclass, field

from tests.support.http_server import Answer, HttpServer, Request


@dataclass
class Habits:
    """What the server does wrong."""

    status: int | None = None
    """Answers every tool call with this status."""
    status_of_all: int | None = None
    """Answers everything with this status."""
    forgetful: bool = False
    """Forgets each session before its first tool call."""
    raw: bytes | None = None
    """Answers tool calls with these bytes, as JSON."""
    drop: bool = False
    """Closes the connection instead of answering a tool call."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of answers to tool calls."""


class McpHttpServer(HttpServer):
    def __init__(self) -> None:
        super().__init__()
        self.habits = Habits()
        self.sessions: list[str] = []
        self.made = 0

    @property
    def endpoint(self) -> str:
        return f"{self.origin}/mcp"

    def methods(self) -> list[str]:
        return [request.json["method"] for request in self.requests if request.method == "POST"]

    async def _answer(self, writer) -> bool:
        self.answers.insert(0, self._reply(self.requests[-1]))
        return await super()._answer(writer)

    def _reply(self, request: Request) -> Answer:
        if self.habits.status_of_all is not None:
            return Answer(status=self.habits.status_of_all, body="no", headers={"content-type": "text/plain"})
        if request.method == "DELETE":
            session = request.headers.get("mcp-session-id", "")
            if session in self.sessions:
                self.sessions.remove(session)
            return Answer(status=200)
        if request.method != "POST":
            return Answer(status=405)
        return self._answer_post(request)

    def _answer_post(self, request: Request) -> Answer:
        message = request.json
        if message["method"] == "initialize":
            self.made += 1
            session = f"session-{self.made}"
            self.sessions.append(session)
            result = {"capabilities": {"tools": {}}, "serverInfo": {"name": "http", "version": "1"}}
            version = {"protocolVersion": message["params"]["protocolVersion"]}
            return self._result(message, result | version, {"mcp-session-id": session})
        if message["method"] == "tools/call" and self.habits.forgetful:
            self.sessions.clear()
        if request.headers.get("mcp-session-id") not in self.sessions:
            return Answer(status=404, body="no such session", headers={"content-type": "text/plain"})
        if "id" not in message:
            return Answer(status=202)
        if message["method"] == "tools/list":
            return self._result(message, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        return self._call(message)

    def _call(self, message: dict) -> Answer:
        if self.habits.status is not None:
            return Answer(status=self.habits.status, body="no", headers={"content-type": "text/plain"})
        if self.habits.raw is not None:
            return Answer(body=self.habits.raw, headers=self.habits.headers)
        if self.habits.drop:
            return Answer(drop=True)
        said = message["params"]["arguments"].get("text", "")
        return self._result(message, {"content": [{"type": "text", "text": said}]}, self.habits.headers)

    def _result(self, message: dict, result: dict, headers: dict[str, str] | None = None) -> Answer:
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return Answer(body=json.dumps(body), headers=headers or {})
