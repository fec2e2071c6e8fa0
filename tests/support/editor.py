"""An editor for tests: starts `tuvl lsp` as a process, and speaks the language server protocol with it."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlparse

PATIENCE_S = 60
"""Seconds after which an answer is missing; none is waited for longer than it takes."""

CAPABILITIES: dict[str, Any] = {
    "workspace": {"workspaceEdit": {"documentChanges": True}, "didChangeWatchedFiles": {"dynamicRegistration": True}},
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
}

Diagnostics = list[dict[str, Any]]


class RequestFailed(Exception):
    """The server refused a request."""


def uri_of(path: Path) -> str:
    return f"file://{quote(str(path))}"


def path_of(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


def position(text: str, needle: str, *, at: int = 0, nth: int = 0) -> dict[str, int]:
    """The position of some text (`at` characters into it, from its end when negative), as editors count: UTF-16."""
    index = -1
    for _ in range(nth + 1):
        index = text.index(needle, index + 1)
    index += at if at >= 0 else len(needle) + at + 1
    before = text[:index]
    line = before.count("\n")
    return {"line": line, "character": len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2}


def text_at(text: str, place: dict[str, Any]) -> str:
    """The text of a range on one line, as an editor marks it."""
    assert place["start"]["line"] == place["end"]["line"]
    units = text.split("\n")[place["start"]["line"]].encode("utf-16-le")
    return units[place["start"]["character"] * 2 : place["end"]["character"] * 2].decode("utf-16-le")


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits, the last one first, as editors apply them."""
    order = sorted(edits, key=lambda edit: (edit["range"]["start"]["line"], edit["range"]["start"]["character"]))
    for edit in reversed(order):
        start, end = (_index(text, edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


def _index(text: str, place: dict[str, int]) -> int:
    lines = text.split("\n")
    units = lines[place["line"]].encode("utf-16-le")[: place["character"] * 2]
    return sum(len(line) + 1 for line in lines[: place["line"]]) + len(units.decode("utf-16-le"))


class Editor:
    """One running server, and what it has said."""

    def __init__(self, root: Path, *, capabilities: dict[str, Any] | None = None, begin: bool = True) -> None:
        self.root = root
        self.versions: dict[Path, int] = {}
        self.texts: dict[Path, str] = {}
        self.shown: dict[Path, tuple[int | None, Diagnostics]] = {}
        self.registered: list[dict[str, Any]] = []
        self._published = 0
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._answers: dict[int | str | None, dict[str, Any]] = {}
        self._last = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tuvl", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=root.parent,
            env={**os.environ, "NO_COLOR": "1"},
        )
        self.errors = b""
        threading.Thread(target=self._read, daemon=True).start()
        self._log = threading.Thread(target=self._read_errors, daemon=True)
        self._log.start()
        self.capabilities: dict[str, Any] = {}
        if begin:
            self.begin(capabilities)

    def begin(self, capabilities: dict[str, Any] | None = None) -> None:
        """Say what a server must hear first."""
        params = {"processId": None, "rootUri": uri_of(self.root), "capabilities": capabilities or CAPABILITIES}
        self.capabilities = self.request("initialize", params)["capabilities"]
        self.notify("initialized", {})

    # ---- messages ----------------------------------------------------------------------------------------------

    def request(self, method: str, params: Any) -> Any:
        """Ask, and wait for the answer."""
        number = self.ask(method, params)
        self._until(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RequestFailed(answer["error"]["message"])
        return answer["result"]

    def ask(self, method: str, params: Any) -> int:
        """Ask without waiting."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer_to(self, message: dict[str, Any] | str) -> dict[str, Any]:
        """Send a message as it is, or what is none, and wait for the answer, a refusal too."""
        number = None if isinstance(message, str) else message["id"]
        self._send(message)
        self._until(lambda: number in self._answers)
        return self._answers.pop(number)

    def _send(self, message: dict[str, Any] | str) -> None:
        body = (message if isinstance(message, str) else json.dumps(message)).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            assert header.startswith(b"Content-"), f"stdout carries more than the protocol: {header!r}"
            if header.startswith(b"Content-Length:"):
                length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            self._messages.put(json.loads(self.process.stdout.read(length)))
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            try:
                message = self._messages.get(timeout=PATIENCE_S)
            except queue.Empty:
                shown = {path.name: (version, found) for path, (version, found) in self.shown.items()}
                raise AssertionError(f"nothing more came; what is shown: {shown}") from None
            assert message is not None, f"the server ended: {self.errors.decode()}"
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case None:
                self._answers[message["id"]] = message
            case "textDocument/publishDiagnostics":
                params = message["params"]
                path = path_of(params["uri"])
                self.shown[path] = (params.get("version"), params["diagnostics"])
                self._published += 1
            case "client/registerCapability":
                self.registered += message["params"]["registrations"]
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            case other:
                raise AssertionError(f"the server said {other}: {message.get('params')}")

    # ---- texts -------------------------------------------------------------------------------------------------

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with the text that it has or another one."""
        text = path.read_bytes().decode() if text is None else text
        self.versions[path], self.texts[path] = 1, text
        item = {"uri": uri_of(path), "languageId": "yaml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return text

    def write(self, path: Path, text: str) -> None:
        """Put another text in place of an open one."""
        self._change(path, text, [{"text": text}])

    def type(self, path: Path, old: str, new: str) -> str:
        """Replace the first place of a text by another, as typing does."""
        text = self.texts[path]
        place = {"start": position(text, old), "end": position(text, old, at=-1)}
        changed = text.replace(old, new, 1)
        self._change(path, changed, [{"range": place, "text": new}])
        return changed

    def _change(self, path: Path, text: str, changes: list[dict[str, Any]]) -> None:
        self.versions[path] += 1
        self.texts[path] = text
        document = {"uri": uri_of(path), "version": self.versions[path]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def close(self, path: Path) -> None:
        del self.versions[path], self.texts[path]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    def changed_on_disk(self, path: Path, how: int = 2) -> None:
        self.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(path), "type": how}]})

    # ---- what is shown -----------------------------------------------------------------------------------------

    def diagnostics(self, path: Path, until: Callable[[Diagnostics], bool] = lambda found: True) -> Diagnostics:
        """Wait for the diagnostics of the newest version of a file, until they are as they should be."""

        def settled() -> bool:
            version, found = self.shown.get(path, (None, []))
            return path in self.shown and version == self.versions.get(path) and until(found)

        self._until(settled)
        return self.shown[path][1]

    def codes(self, path: Path, *wanted: str) -> Diagnostics:
        """Wait until exactly these checks speak on a file."""
        return self.diagnostics(path, lambda found: sorted(one["code"] for one in found) == sorted(wanted))

    def at(self, path: Path, place: dict[str, int]) -> dict[str, Any]:
        return {"textDocument": {"uri": uri_of(path)}, "position": place}

    def hover(self, path: Path, needle: str, *, at: int = 1, nth: int = 0) -> str:
        """The text that shows over some text of an open file; empty when none does."""
        answer = self.request("textDocument/hover", self.at(path, position(self.texts[path], needle, at=at, nth=nth)))
        return "" if answer is None else str(answer["contents"]["value"])

    def definition(self, path: Path, needle: str, *, at: int = 1, nth: int = 0) -> list[tuple[Path, int]]:
        """Where some text of an open file leads: files, and lines counted from 1."""
        place = position(self.texts[path], needle, at=at, nth=nth)
        found = self.request("textDocument/definition", self.at(path, place))
        return [(path_of(one["uri"]), one["range"]["start"]["line"] + 1) for one in found]

    def complete(self, path: Path, needle: str, *, nth: int = 0) -> dict[str, dict[str, Any]]:
        """What is offered behind some text of an open file, by label."""
        place = position(self.texts[path], needle, at=-1, nth=nth)
        answer = self.request("textDocument/completion", self.at(path, place))
        return {item["label"]: item for item in answer["items"]}

    def actions(self, path: Path, diagnostic: dict[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        """What can be done about a diagnostic."""
        context: dict[str, Any] = {"diagnostics": [diagnostic]}
        if only is not None:
            context["only"] = only
        document = {"uri": uri_of(path)}
        params = {"textDocument": document, "range": diagnostic["range"], "context": context}
        found: list[dict[str, Any]] = self.request("textDocument/codeAction", params)
        return found

    def end(self) -> int:
        """Say goodbye as the protocol wants it; returns the exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def editing(root: Path, *, capabilities: dict[str, Any] | None = None, begin: bool = True) -> Iterator[Editor]:
    """Edit a project; at the end the server must have ended cleanly, and have logged nothing."""
    editor = Editor(root, capabilities=capabilities, begin=begin)
    try:
        yield editor
        if editor.process.poll() is None:
            assert editor.end() == 0
        editor._log.join(PATIENCE_S)
        assert editor.errors == b"", editor.errors.decode()
    finally:
        editor.process.kill()
        editor.process.wait()
        for pipe in (editor.process.stdin, editor.process.stdout, editor.process.stderr):
            assert pipe is not None
            pipe.close()
