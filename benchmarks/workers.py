"""How many durable runs two workers on one PostgreSQL perform, how they share them, and what room they take over many.

The server keeps each commit on the disk before it says so, as one does that people rely on. The runs are on the queue
before the clock runs: what starting them costs is measured over HTTP, in `benchmarks.server`.
"""

import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from benchmarks.measure import TUVL, Figure, environ
from tests.support.postgres import own_server
from tuvl.durable.shared_tables import SCHEMA
from tuvl.hosting.host import Host
from tuvl.hosting.requests import StartRequest
from tuvl.project.index import ProjectIndex
from tuvl.settings import load_settings

RUNS = 400
"""Runs of one measurement."""

ROUNDS = 3
"""Measured so often; the median counts."""

WORKERS, CONCURRENCY = 2, 10
WARM = 40
"""Runs that the workers have performed before the clock runs."""

AT_ONCE = 20
"""Runs that are started at the same time."""

DURABLE = "-c listen_addresses='' -c fsync=on -c synchronous_commit=on -c max_connections=100"

WORKFLOW = """\
kind: Workflow
metadata: { name: three, description: Read three times. }
spec:
  input: { type: object, properties: { name: { type: string } }, required: [name] }
  steps:
    - { id: first, kind: Functional, runner: look }
    - { id: second, kind: Functional, runner: look }
    - { id: third, kind: Functional, runner: look }
"""
NODE = """\
from tuvl import node


@node("look", effects="read")
async def look(ctx):
    return {"seen": [*ctx.get("seen", []), ctx["name"]]}
"""


def figures(folder: Path) -> list[Figure]:
    """Measure."""
    with _site(folder) as (url, workers):
        rounds = [asyncio.run(_round(folder, url, workers)) for _ in range(ROUNDS)]
    rate = statistics.median(rate for rate, _ in rounds)
    share = statistics.median(share for _, share in rounds)
    return [
        Figure(
            name=f"{WORKERS} workers on one PostgreSQL, durable runs of three steps that read",
            value=1000 / rate,
            unit="ms a run",
            limit=1000 / 60,
            note=f"{rate:.0f} runs a second",
        ),
        Figure(name="the worker that had more of them had", value=share * 100, unit="%", limit=60),
    ]


def flatness(folder: Path, runs: int, *, looks: int = 10) -> list[tuple[int, float, int]]:
    """Perform many runs; returns after how many what the larger worker had: memory in MB, and threads."""
    with _site(folder) as (url, workers):
        seen = []
        for look in range(1, looks + 1):
            asyncio.run(_round(folder, url, workers, count=runs // looks))
            seen.append((look * runs // looks, max(map(_rss_mb, workers)), max(map(_threads, workers))))
    return seen


@contextmanager
def _site(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Have a project, a database and workers that have performed a few runs; gives its URL and their process ids."""
    for name, text in {
        "workflows/three.yaml": WORKFLOW,
        "nodes/look.py": NODE,
        "tuvl.yaml": "kind: ProjectConfig\nmetadata: { name: bench }\nspec: {}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with own_server(DURABLE) as server, server.database() as url:
        log = (folder / "workers.log").open("wb")
        words = [TUVL, "worker", "--concurrency", str(CONCURRENCY)]
        env = {**environ(), "TUVL_DATABASE_URL": url}
        workers = [subprocess.Popen(words, cwd=folder, env=env, stderr=log) for _ in range(WORKERS)]
        try:
            asyncio.run(_warm(folder, url, [worker.pid for worker in workers]))
            yield url, [worker.pid for worker in workers]
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
            for worker in workers:
                worker.wait()
            log.close()


def _host(folder: Path, url: str):  # type: ignore[no-untyped-def]
    return Host.open(ProjectIndex(folder), load_settings({"TUVL_DATABASE_URL": url}), concurrency=0)


async def _warm(folder: Path, url: str, workers: list[int]) -> None:
    async with _host(folder, url) as host:
        took: set[int] = set()
        while not set(workers) <= took:
            ids = await _start(host, WARM)
            await _ended(url, ids)
            took |= set(_shares(url, ids))


async def _round(folder: Path, url: str, workers: list[int], *, count: int = RUNS) -> tuple[float, float]:
    """Perform runs; returns how many a second, and which part the worker with more of them had."""
    async with _host(folder, url) as host:
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            ids = await _start(host, count)
        finally:
            begun = time.time()
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
        last = await _ended(url, ids)
    shares = _shares(url, ids)
    print(
        f"{count} runs in {last - begun:.2f} s: {count / (last - begun):.1f} a second, {dict(shares)}, "
        f"load {os.getloadavg()[0]:.1f}",
        file=sys.stderr,
    )
    return count / (last - begun), max(shares.values()) / count


async def _start(host: Host, count: int) -> list[str]:
    ids: list[str] = []

    async def some(number: int) -> None:
        for turn in range(number, count, AT_ONCE):
            ids.append(await host.start(StartRequest(workflow="three", input={"name": f"n{turn}"})))

    await asyncio.gather(*(some(number) for number in range(AT_ONCE)))
    return ids


async def _ended(url: str, ids: list[str]) -> float:
    """Wait until runs have ended; returns when the last one did, in seconds since 1970."""
    query = (
        f"SELECT count(*), max(completed_at), count(*) FILTER (WHERE status <> 'SUCCESS') FROM {SCHEMA}.workflow_status"
        " WHERE workflow_uuid = ANY(:ids) AND status NOT IN ('ENQUEUED', 'PENDING')"
    )
    while True:
        ((count, last, failed),) = await asyncio.to_thread(_asked, url, query, ids)
        assert not failed
        if count == len(ids):
            return float(last) / 1000
        await asyncio.sleep(0.25)


def _shares(url: str, ids: list[str]) -> Counter[int]:
    """Return how many of the runs each process had."""
    query = f"SELECT executor_id FROM {SCHEMA}.workflow_status WHERE workflow_uuid = ANY(:ids)"
    return Counter(int(executor.split(":")[1]) for (executor,) in _asked(url, query, ids))


def _asked(url: str, query: str, ids: list[str]) -> list[tuple]:  # type: ignore[type-arg]
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(query), {"ids": ids})]


def _rss_mb(pid: int) -> float:
    return _status(pid, "VmRSS") / 1000


def _threads(pid: int) -> int:
    return _status(pid, "Threads")


def _status(pid: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1])


if __name__ == "__main__":
    where = Path(os.environ.get("BENCH_DIR", "/tmp/tuvl-bench-workers"))
    if len(sys.argv) > 1:
        for runs, memory, threads in flatness(where, int(sys.argv[1])):
            print(f"after {runs} runs: {memory:.1f} MB, {threads} threads")
    else:
        for figure in figures(where):
            print(f"{figure.name}: {figure.value:.1f} {figure.unit} (limit {figure.limit}) {figure.note}")
