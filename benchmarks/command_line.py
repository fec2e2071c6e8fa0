"""The command line as a person meets it: whole processes, from a cold start."""

import json
import statistics
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.measure import RUNS, TUVL, Figure, environ, process_figures, tree_peak_of
from benchmarks.monsters import MONSTERS
from benchmarks.projects import MODEL, write, write_project

INPUT = {"ticket_id": "T-1", "text": "Where is my parcel?", "order": {"id": "A-1", "amount": 12}}


def figures(folder: Path) -> list[Figure]:
    """Measure every command-line figure, with projects written below `folder`."""
    one, many, live = folder / "one", folder / "many", folder / "live"
    write_project(one, workflows=1)
    write_project(many, workflows=500)
    write_project(live, workflows=1)
    write(one / "input.json", json.dumps(INPUT))
    write(live / "input.json", json.dumps(INPUT))
    workflow = "workflows/ticket_000.yaml"
    run = [TUVL, "run", workflow, "--input", "input.json", "--events", "none"]
    return [
        *process_figures("`tuvl --version`", [TUVL, "--version"], cwd=one, limit_s=0.06),
        *process_figures(
            "`tuvl validate`, one workflow of 140 lines",
            [TUVL, "validate", workflow],
            cwd=one,
            limit_s=0.3,
            limit_mb=40,
        ),
        *process_figures(
            "`tuvl validate`, 500 such workflows", [TUVL, "validate", ".", "--no-cache"], cwd=many, limit_s=3.0
        ),
        *process_figures("the same once more, nothing changed", [TUVL, "validate", "."], cwd=many, limit_s=0.4),
        *thousands(folder / "thousands"),
        *process_figures("`tuvl run`, scripted model", run, cwd=one, limit_s=0.6),
        first_request(live, run),
    ]


def thousands(folder: Path) -> list[Figure]:
    """Measure the check of 5,000 workflows: once, since it is long."""
    write_project(folder, workflows=5000)
    name, command = "`tuvl validate`, 5,000 such workflows", [TUVL, "validate", ".", "--no-cache"]
    found = process_figures(name, command, cwd=folder, limit_s=30.0, runs=1)
    peak = tree_peak_of(command, cwd=folder)
    if peak is not None:
        found.append(Figure(name=f"{name}, peak memory of all processes", value=peak, unit="MB", limit=300))
    return found


def monstrous(folder: Path) -> list[Figure]:
    """Measure what no honest author writes, one run each."""
    found: list[Figure] = []
    for name, (text_of, size) in MONSTERS.items():
        write(folder / "tuvl.yaml", "kind: ProjectConfig\n")
        write(folder / "monster.yaml", text_of(size))
        started = time.perf_counter()
        ended = subprocess.run(
            [TUVL, "validate", "monster.yaml"], cwd=folder, env=environ(), capture_output=True, timeout=300, check=False
        )
        seconds = time.perf_counter() - started
        if ended.returncode > 1:
            raise RuntimeError(f"{name}: ended with {ended.returncode}:\n{ended.stderr.decode()[-2000:]}")
        found.append(Figure(name=f"{name}: {size:,}", value=seconds, unit="s", limit=10.0))
    return found


def first_request(folder: Path, command: list[str]) -> Figure:
    """Measure how long after its start a run with an `openai_compatible` preset sends its first request."""
    server = ModelServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    preset = (
        MODEL.partition("spec:")[0]
        + f"spec:\n  provider: openai_compatible\n  model: any\n  api_base: http://127.0.0.1:{server.server_port}/v1\n"
        + "  api_key: none\n  price: { input_per_mtok: 1.0, output_per_mtok: 4.0 }\n"
    )
    write(folder / "llms" / "bench.yaml", preset)
    delays = []
    try:
        for _ in range(RUNS + 1):
            server.asked.clear()
            started = time.monotonic()
            subprocess.run(
                command,
                cwd=folder,
                env=environ(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
                timeout=60,
            )
            delays.append(server.asked[0] - started)
    finally:
        server.shutdown()
        server.server_close()
    return Figure(
        name="`tuvl run`, start to the first request at an `openai_compatible` server",
        value=statistics.median(delays[1:]),
        unit="s",
        limit=0.9,
    )


class ModelServer(ThreadingHTTPServer):
    """An OpenAI-compatible server that resolves every ticket at once and notes when it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[float] = []
        super().__init__(("127.0.0.1", 0), ModelHandler)


class ModelHandler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    wbufsize = -1
    server: ModelServer

    def do_POST(self) -> None:
        """Answer any request with the same reply."""
        self.server.asked.append(time.monotonic())
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        message = {"role": "assistant", "content": json.dumps({"outcome": "resolved", "result": "done"})}
        raw = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "any",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""
