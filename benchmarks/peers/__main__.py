"""Measure every peer side by side and write PEERS.md: `make bench-peers`."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.machine import machine

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "PEERS.md"
PEERS = ("tuvl", "pydantic-ai", "langgraph", "openai-agents")
TURNS = 30
RUNS = 7
ROUNDS = 3

HEAD = f"""\
# Side by side

Written by `make bench-peers`. One agent with one tool makes {TURNS} tool calls and answers, against one scripted
chat-completions server on this machine. A turn's time is what is left when the server's and the wire's is taken off:
that of a client that sends the same requests with httpx and does nothing else. Median of {RUNS} runs in a process, and
of {ROUNDS} processes; the import and the memory are those of a process that does only this.
"""


@contextmanager
def server() -> Iterator[int]:
    """Start the scripted server and give its port."""
    process = subprocess.Popen([sys.executable, str(HERE / "server.py"), str(TURNS)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def measured(python: str, peer: str, port: int) -> dict[str, float]:
    """Measure one peer, in processes of its own."""
    command = [python, str(HERE / "drive.py"), peer, str(port), str(TURNS), str(RUNS)]
    rounds = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
        for _ in range(ROUNDS)
    ]
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def version(python: str, peer: str) -> str:
    """Return the installed version of a peer."""
    lines = (
        "from importlib.metadata import PackageNotFoundError, version",
        f"for name in ({peer!r}, {peer + '-slim'!r}):",
        "    try:",
        "        print(version(name))",
        "        break",
        "    except PackageNotFoundError:",
        "        pass",
    )
    command = [python, "-c", "\n".join(lines)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(peers_python: str) -> int:
    """Measure, print and write; ends with 1 where tuvl is not ahead."""
    with server() as port:
        wire = measured(sys.executable, "bare", port)["turn_ms"]
        figures = {peer: measured(sys.executable if peer == "tuvl" else peers_python, peer, port) for peer in PEERS}
    lines = [HEAD, *(f"- {line}" for line in machine()), f"- server and wire: {wire:.2f} ms a turn", ""]
    lines += ["| library | version | own time a turn | import | peak memory |", "|---|---|---|---|---|"]
    for peer, figure in figures.items():
        own = figure["turn_ms"] - wire
        known = version(sys.executable if peer == "tuvl" else peers_python, peer)
        lines.append(f"| {peer} | {known} | {own:.2f} ms | {figure['import_s']:.2f} s | {figure['peak_mb']:.0f} MB |")
    ours = figures.pop("tuvl")
    behind = [
        f"{name} of {peer}"
        for peer, figure in figures.items()
        for key, name in (("turn_ms", "time a turn"), ("import_s", "import"), ("peak_mb", "memory"))
        if ours[key] > figure[key]
    ]
    lines += ["", f"Behind in: {', '.join(behind)}." if behind else "Ahead in every column."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
