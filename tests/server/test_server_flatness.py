"""A server that has performed ten thousand plain runs needs no more room; the long form only, for it takes minutes.

The short form is that nothing is kept of connections that were closed: `tests/data/test_closed_connections.py`.
"""

import asyncio
import os
import re
from pathlib import Path

from benchmarks.measure import TUVL, run_process
from benchmarks.server import QUICK, _served, _starts

RUNS, LOOKS, RATE = 10_000, 10, 120
SETTLED = 3
"""Looks until all that a server keeps is there."""


def status(process: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1])


if os.environ.get("TUVL_SOAK"):

    def test_memory_and_threads_of_a_server_stay_flat_over_ten_thousand_plain_runs(tmp_path):
        (tmp_path / "workflows").mkdir()
        (tmp_path / "workflows" / "quick.yaml").write_text(QUICK, encoding="utf-8")
        config = "kind: ProjectConfig\nmetadata: { name: bench }\nspec: {}\n"
        (tmp_path / "tuvl.yaml").write_text(config, encoding="utf-8")
        create = [TUVL, "token", "create", "--principal", "bench", "--scope", "*"]
        token = run_process(create, cwd=tmp_path).stdout.split()[-1]
        body = {"workflow": "quick", "input": {"name": "Ada"}, "mode": "detached", "durable": False}
        seen = []
        with _served(tmp_path) as (host, port, process):
            for _ in range(LOOKS):
                asyncio.run(_starts(host, port, token, body, rate=RATE, count=RUNS // LOOKS))
                seen.append((status(process, "VmRSS") / 1000, status(process, "Threads")))
        print(seen)
        memory, threads = seen[SETTLED - 1]
        assert max(then for then, _ in seen) <= memory * 1.1
        assert max(then for _, then in seen) <= threads + 4
