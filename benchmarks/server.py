"""What it takes to start runs over HTTP and over gRPC, and how much room runs take that go on at once."""

import asyncio
import json
import os
import re
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

from benchmarks import rpc
from benchmarks.measure import TUVL, Figure, environ, run_process

PLAIN_RATE, DURABLE_RATE = 150, 30
"""Starts a second."""

SECONDS = 10
LIVE = 500
KEPT_S = 3
"""How long an idle connection may be used again; the server closes it after 5 s."""
ROUNDS = 3
"""Measured so often; the median counts."""

QUICK = """\
kind: Workflow
metadata: { name: quick, description: Ends at once. }
spec:
  input: { type: object, properties: { name: { type: string } }, required: [name] }
  steps:
    - { id: greet, kind: Functional, runner: set, values: { greeting: "Hello {{ name }}" } }
"""
THINKING = """\
kind: Workflow
metadata: { name: thinking, description: An agent whose model takes its time. }
spec:
  input: { type: object, properties: { name: { type: string } }, required: [name] }
  steps:
    - id: agent
      kind: Agent
      mode: completion
      agent: { model: slow, prompt: "Think about {{ name }}.", timeout_s: 600 }
"""
SLOW = """\
kind: AgentModel
metadata: { name: slow }
spec: { provider: scripted, replies: [{ text: done, delay_s: 600 }] }
"""


def figures(folder: Path) -> list[Figure]:
    """Measure."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in {"workflows/quick": QUICK, "workflows/thinking": THINKING, "llms/slow": SLOW}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "tuvl.yaml").write_text("kind: ProjectConfig\nmetadata: { name: bench }\nspec: {}\n", encoding="utf-8")
    command = [TUVL, "token", "create", "--principal", "bench", "--scope", "*"]
    token = run_process(command, cwd=folder).stdout.split()[-1]
    plain = [_latency(folder, token, rate=PLAIN_RATE, durable=False) for _ in range(ROUNDS)]
    durable = [_latency(folder, token, rate=DURABLE_RATE, durable=True) for _ in range(ROUNDS)]
    over_grpc = [_rpc_latency(folder, token) for _ in range(ROUNDS)]
    return [
        Figure(
            name=f"starting a detached plain run, {PLAIN_RATE} a second for {SECONDS} s, p99",
            value=statistics.median(plain),
            unit="ms",
            limit=50,
        ),
        Figure(
            name=f"the same over gRPC, {PLAIN_RATE} a second for {SECONDS} s, p99",
            value=statistics.median(over_grpc),
            unit="ms",
            limit=50,
        ),
        Figure(
            name=f"starting a detached durable run, {DURABLE_RATE} a second for {SECONDS} s, p99",
            value=statistics.median(durable),
            unit="ms",
            limit=50,
        ),
        Figure(name=f"the server with {LIVE} runs that go on", value=_room(folder, token), unit="MB", limit=500),
    ]


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Serve the project while the block runs; gives host, port and process."""
    with _process(folder) as process:
        assert process.stderr is not None
        found = re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())
        assert found is not None
        yield found[1], int(found[2]), process.pid


@contextmanager
def _process(folder: Path, *more: str) -> Iterator["Popen[str]"]:
    words = [*more, "--port", "0", "--concurrency", "5000", "--rate", "100000", "--burst", "100000", "--grace", "0"]
    process = Popen([TUVL, "serve", *words], cwd=folder, stderr=PIPE, text=True, env=environ())
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _latency(folder: Path, token: str, *, rate: int, durable: bool) -> float:
    """Start runs at a steady rate, and return the 99th percentile of the times until they were accepted, in ms."""
    with _served(folder) as (host, port, _):
        body = {"workflow": "quick", "input": {"name": "Ada"}, "mode": "detached", "durable": durable}
        taken = asyncio.run(_starts(host, port, token, body, rate=rate))
    return _p99_ms(taken)


def _rpc_latency(folder: Path, token: str) -> float:
    """Start plain runs over gRPC at the rate of those over HTTP; returns the same percentile."""
    with _process(folder, "--grpc-port", "0") as process:
        assert process.stderr is not None
        found = re.search(r"gRPC at (\S+)", process.stderr.readline() + process.stderr.readline())
        assert found is not None
        starts = rpc.starts(found[1], token, workflow="quick", durable=False, rate=PLAIN_RATE, seconds=SECONDS)
        return _p99_ms(asyncio.run(starts))


def _p99_ms(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99)] * 1000


def _room(folder: Path, token: str) -> float:
    with _served(folder) as (host, port, process):
        body = {"workflow": "thinking", "input": {"name": "Ada"}, "mode": "detached", "durable": False}
        asyncio.run(_starts(host, port, token, body, rate=100, count=LIVE))
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1000


async def _starts(
    host: str, port: int, token: str, body: Mapping[str, object], *, rate: int, count: int | None = None
) -> list[float]:
    """Start runs at fixed times, whether those before have been answered or not, over connections that are kept."""
    idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []
    text = json.dumps(body)
    head = [
        "POST /api/runs HTTP/1.1",
        f"Host: {host}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(text)}",
    ]
    request = "\r\n".join([*head, "", text]).encode()

    async def start(at: float) -> float:
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        begun = time.perf_counter()
        if idle and begun - idle[-1][0] < KEPT_S:
            _, reader, writer = idle.pop()
        else:
            reader, writer = await asyncio.open_connection(host, port)
        writer.write(request)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert b" 202 " in answer.partition(b"\r\n")[0], answer
        assert length is not None
        await reader.readexactly(int(length[1]))
        ended = time.perf_counter()
        idle.append((ended, reader, writer))
        return ended - begun

    # Plans and connections are made at the first requests.
    for _ in range(5):
        await start(0.0)
    first = time.perf_counter()
    wanted = count or rate * SECONDS
    taken = await asyncio.gather(*(start(first + number / rate) for number in range(wanted)))
    for _, _, writer in idle:
        writer.close()
    return taken


if __name__ == "__main__":
    for figure in figures(Path(os.environ.get("BENCH_DIR", "/tmp/tuvl-bench-server"))):
        print(f"{figure.name}: {figure.value:.1f} {figure.unit} (limit {figure.limit})")
