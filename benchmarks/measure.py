"""Medians, and processes with a watch on them."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

RUNS = 7
"""Every figure is the median of this many runs, after one that does not count."""

TUVL = str(Path(sys.executable).with_name("tuvl"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure, and what it should stay below; `unit` says how both are written."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def kept(self) -> bool:
        """Whether the limit is kept; true without one."""
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What one process cost in seconds of wall clock, and what it printed."""

    seconds: float
    stdout: str


# A process inherits the peak of the one that starts it, so a small one of a few MB stands between.
_WATCH = """
import os, sys
nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
print(os.wait4(child, 0)[2].ru_maxrss)
"""


def median(measure: Callable[[], float], *, runs: int = RUNS) -> float:
    """Measure several times, once more for warmth first, and return the median."""
    measure()
    return statistics.median(measure() for _ in range(runs))


def run_process(command: Sequence[str], *, cwd: Path, expect: int = 0) -> Process:
    """Run a command to its end and say what it cost; another exit code than expected is an error."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    stdout, _ = process.communicate()
    seconds = time.perf_counter() - started
    if process.returncode != expect:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{stdout}")
    return Process(seconds=seconds, stdout=stdout)


def peak_of(command: Sequence[str], *, cwd: Path) -> float:
    """Run a command to its end and return its peak memory in MB."""
    watch = run_process([sys.executable, "-I", "-S", "-c", _WATCH, *command], cwd=cwd)
    return peak_mb(int(watch.stdout))


def tree_peak_of(command: Sequence[str], *, cwd: Path) -> float | None:
    """Run a command to its end and return the peak memory of it and all its processes in MB.

    Pages that several of them share count once. `None` where the system does not tell.
    """
    if not Path("/proc/self/smaps_rollup").exists():
        return None
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=cwd, env=environ(), stdin=nothing, stdout=nothing, stderr=nothing)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(_share_kib(pid) for pid in _tree(process.pid)))
        time.sleep(0.02)
    return peak / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            yield from _tree(int(child))


def _share_kib(pid: int) -> int:
    """What a process uses, its part of shared pages included."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


def process_figures(
    name: str,
    command: Sequence[str],
    *,
    cwd: Path,
    limit_s: float,
    limit_mb: float | None = None,
    expect: int = 0,
    runs: int = RUNS,
) -> list[Figure]:
    """Measure a command: its wall clock, and its peak memory when that has a limit."""
    run_process(command, cwd=cwd, expect=expect)
    seen = [run_process(command, cwd=cwd, expect=expect) for _ in range(runs)]
    figures = [Figure(name=name, value=statistics.median(run.seconds for run in seen), unit="s", limit=limit_s)]
    if limit_mb is not None:
        memory = statistics.median(peak_of(command, cwd=cwd) for _ in range(RUNS))
        figures.append(Figure(name=f"{name}, peak memory", value=memory, unit="MB", limit=limit_mb))
    return figures


def peak_mb(maxrss: int) -> float:
    """Turn `ru_maxrss` into MB: it counts KiB, on macOS bytes."""
    return maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def environ() -> Mapping[str, str]:
    """Return the environment of a measured process: this one's, without settings of tuvl, with bytecode stored.

    Reports are kept apart from the user's own.
    """
    left_out = "PYTHONDONTWRITEBYTECODE"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TUVL_") and name != left_out}
    return {**kept, "XDG_CACHE_HOME": str(Path(tempfile.gettempdir(), f"tuvl-bench-{os.getpid()}"))}
