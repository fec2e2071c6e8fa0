"""A project whose run meets every kind of checkpoint, and a server outside of it that counts what was really done."""

import http.server
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FILES = {
    "tuvl.yaml": """\
kind: ProjectConfig
metadata: { name: demo }
spec: { http: { deny_private: true, allow_hosts: ["127.0.0.1"] } }
""",
    "llms/m.yaml": """\
kind: AgentModel
metadata: { name: m }
spec:
  provider: scripted
  price: { input_per_mtok: 1, output_per_mtok: 2 }
  replies:
    - tool_calls: [{ id: c1, name: pay, arguments: { n: 1 } }]
      usage: { input_tokens: 10, output_tokens: 5 }
    - tool_calls: [{ id: c2, name: look, arguments: { n: 2 } }, { id: c3, name: pay, arguments: { n: 3 } }]
      usage: { input_tokens: 20, output_tokens: 5 }
    - text: done
      usage: { input_tokens: 30, output_tokens: 5 }
""",
    "workflows/w.yaml": """\
kind: Workflow
metadata: { name: w, description: Meet every checkpoint. }
spec:
  input:
    type: object
    properties: { origin: { type: string }, case: { type: string } }
    required: [origin, case]
  steps:
    - { id: begin, kind: Functional, runner: set, values: { at: "{{ case }}" } }
    - id: keyed
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/keyed", method: POST, json: {} }
      idempotency_key: "key-{{ case }}"
      response: { output_key: keyed }
    - id: plain
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/plain", method: POST, json: {} }
      response: { output_key: plain }
    - id: agent
      kind: Agent
      mode: autonomous
      description: Pay.
      agent:
        model: m
        steering: Pay.
        max_iterations: 6
        tools:
          - ref: pay
            parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
          - ref: look
            parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    - id: each
      kind: ForEach
      items: [7, 8]
      as: item
      step: post
      output_key: posted
    - id: inner
      kind: Workflow
      workflow: inner
      input: { origin: "{{ origin }}", case: "{{ case }}" }
      output_key: inner
    - id: pay
      kind: APICall
      description: Pay.
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/pay{{ args.n }}", timeout: 120, method: POST, json: {} }
      response: { output_key: paid }
    - id: look
      kind: APICall
      description: Look.
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/look{{ args.n }}" }
      response: { output_key: seen }
    - id: post
      kind: APICall
      description: Post.
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/post{{ item }}", method: POST, json: {} }
      response: { output_key: out }
---
kind: Workflow
metadata: { name: inner, description: Inside. }
spec:
  input:
    type: object
    properties: { origin: { type: string }, case: { type: string } }
    required: [origin, case]
  steps:
    - id: deep
      kind: APICall
      http: { url: "http://127.0.0.1:{{ origin }}/{{ case }}/deep", method: POST, json: {} }
      response: { output_key: deep }
""",
}

EFFECTS = ("keyed", "plain", "pay1", "pay3", "post7", "post8", "deep")
"""What a run does once."""

READS = ("look2",)
"""What it may do again."""

ROWS = (
    "keyed#1/end!1",
    "keyed#1/end",
    "plain#1/end!1",
    "plain#1/end",
    "agent#1/turn.m#1",
    "agent#1/tool.pay.c1#1/end!1",
    "agent#1/tool.pay.c1#1/end",
    "agent#1/turn.m#2",
    "agent#1/tool.look.c2#1/end",
    "agent#1/tool.pay.c3#1/end!1",
    "agent#1/tool.pay.c3#1/end",
    "agent#1/turn.m#3",
    "agent#1/end",
    "each#1/[0]/end!1",
    "each#1/[0]/end",
    "each#1/[1]/end!1",
    "each#1/[1]/end",
    "each#1/end",
    "inner#1/deep#1/end!1",
    "inner#1/deep#1/end",
    "inner#1/end",
)
"""Every row of its record, in order: an intent ends on `!1`."""


def make_project(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


class Counting(http.server.BaseHTTPRequestHandler):
    """Counts what it is asked, by path."""

    counts: Counter[str]
    keys: dict[str, set[str]]
    meanwhile: dict[str, Callable[[], object]]
    """What is done before a path is answered; the path is counted by then."""
    failing: Counter[str]
    """How often a path is still answered with 503."""
    bodies: dict[str, object]
    """What a path is answered with, where that is anything of its own."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer()

    def _answer(self) -> None:
        self.counts[self.path] += 1
        self.keys.setdefault(self.path, set()).add(self.headers.get("idempotency-key") or "")
        self.meanwhile.get(self.path, lambda: None)()
        body = json.dumps(self.bodies.get(self.path, {"ok": True})).encode()
        self.failing[self.path] -= 1
        self.send_response(503 if self.failing[self.path] >= 0 else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        return


@contextmanager
def counting() -> Iterator[tuple[int, type[Counting]]]:
    """Serve on a free port; yields it, and what was counted."""

    class Handler(Counting):
        """One of its own for each server: what is counted belongs to the class."""

    Handler.counts, Handler.keys, Handler.meanwhile, Handler.failing = Counter(), {}, {}, Counter()
    Handler.bodies = {}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], Handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
