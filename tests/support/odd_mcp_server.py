"""An MCP server over stdio that does what a test tells it to, right or wrong; plain Python, no SDK.

Started as `python odd_mcp_server.py [word…]`; the words are habits:

    banner          prints lines that are no messages before anything else
    split           writes each message in three pieces, and lists and results in one write with a notification
    flood           writes 256 kB to stderr before each reply
    mute            never answers `initialize`
    deaf            never reads
    prose           prints two lines that are no messages, and exits
    sorry           answers `initialize` with an error of code -32000
    dead            exits at once, with a complaint
    paged           lists its tools in pages of two
    endless         never stops listing
    odd             lists tools with schemas that the protocol does not allow
    stubborn        ignores the end of its input and SIGTERM
    child           starts a process of its own that outlives it
    log=FILE        appends every message it gets to FILE, one a line
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HABITS = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[1:]}
WRITING = threading.Lock()

TOOLS = ["echo", "say", "pid", "late", "hang", "die", "vanish", "huge", "environ", "orphan", "refuse"]

UNANSWERED: dict[object, dict] = {}
"""Calls of `late`, which is answered once its cancellation has been announced."""


def write(*messages: dict) -> None:
    text = "".join(json.dumps(message) + "\n" for message in messages)
    with WRITING:
        if "flood" in HABITS:
            sys.stderr.write("noise " * 44_000)
            sys.stderr.flush()
        if "split" in HABITS:
            third = max(1, len(text) // 3)
            for piece in (text[:third], text[third : 2 * third], text[2 * third :]):
                sys.stdout.write(piece)
                sys.stdout.flush()
                time.sleep(0.01)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()


def answer(request: dict, result: dict) -> None:
    reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    if "split" in HABITS:
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        write(notice, reply)
    else:
        write(reply)


def refuse(request: dict, code: int, message: str) -> None:
    write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})


def text(value: str) -> dict:
    return {"content": [{"type": "text", "text": value}]}


def listing(cursor: str | None) -> dict:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
    if "odd" in HABITS:
        tools += [{"name": "odd schema", "inputSchema": {}}, {"name": "no schema"}, {"nameless": True}, "what"]
        tools += [{"name": "ghost", "inputSchema": {"type": "object"}}]
        tools += [{"name": "shaped", "inputSchema": {}, "outputSchema": {"type": "object", "required": ["n"]}}]
        tools += [{"name": "misshaped", "inputSchema": {}, "outputSchema": {"type": "nonsense"}}]
    if "endless" in HABITS:
        return {"tools": tools[:1], "nextCursor": f"page-{os.urandom(8).hex()}"}
    if "paged" in HABITS:
        start = int(cursor.removeprefix("from-")) if cursor else 0
        page = {"tools": tools[start : start + 2]}
        return page | ({"nextCursor": f"from-{start + 2}"} if start + 2 < len(tools) else {})
    return {"tools": tools}


def call(request: dict) -> None:
    name, arguments = request["params"]["name"], request["params"].get("arguments") or {}
    match name:
        case "echo":
            answer(request, text(str(arguments.get("text", ""))))
        case "say" | "shaped" | "misshaped" | "odd schema" | "no schema":
            answer(request, arguments["result"])
        case "pid":
            answer(request, text(str(os.getpid())))
        case "hang" | "late":
            pass
        case "die":
            sys.stderr.write(arguments.get("words", "cannot go on\n"))
            sys.stderr.flush()
            os._exit(3)
        case "vanish":
            answer(request, text("bye"))
            os._exit(0)
        case "huge":
            answer(request, text("x" * arguments["size"]))
        case "environ":
            answer(request, {"content": [], "structuredContent": dict(os.environ, cwd=os.getcwd())})
        case "refuse":
            refuse(request, arguments["code"], arguments["message"])
        case "orphan":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            answer(request, text(str(child.pid)))
        case _:
            refuse(request, -32602, f"Unknown tool: {name}")


def handle(message: dict) -> None:
    match message.get("method"):
        case "initialize":
            if "sorry" in HABITS:
                refuse(message, -32000, "out of licences")
            elif "mute" not in HABITS:
                version = message["params"]["protocolVersion"]
                capabilities = {"tools": {}}
                info = {"name": "odd", "version": "1"}
                answer(message, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
        case "tools/list":
            answer(message, listing((message.get("params") or {}).get("cursor")))
        case "tools/call" if message["params"]["name"] == "late":
            UNANSWERED[message["id"]] = message
        case "notifications/cancelled" if asked := UNANSWERED.pop(message["params"]["requestId"], None):
            answer(asked, text("late"))
        case "tools/call":
            threading.Thread(target=call, args=(message,), daemon=True).start()
        case "ping":
            answer(message, {})
        case _ if "id" in message:
            refuse(message, -32601, "Method not found")


def main() -> None:
    if "dead" in HABITS:
        sys.exit("the configuration file is missing")
    if "prose" in HABITS:
        print("usage: odd [word]\nthe words are habits")
        sys.exit(2)
    if "stubborn" in HABITS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "banner" in HABITS:
        sys.stdout.write('ready\n\n{"level": "info"}\n42\n\xff\n')
        sys.stdout.flush()
    if "deaf" in HABITS:
        time.sleep(600)
    for line in sys.stdin:
        if "log" in HABITS:
            with Path(HABITS["log"]).open("a", encoding="utf-8") as log:
                log.write(line)
        handle(json.loads(line))
    if "stubborn" in HABITS:
        time.sleep(600)


main()
