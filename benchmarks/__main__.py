"""Measure everything and write RESULTS.md; ends with 1 when a figure is above its limit."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import command_line, durable, engine, loop, server, streaming, workers
from benchmarks.machine import machine
from benchmarks.measure import RUNS, Figure

RESULTS = Path(__file__).with_name("RESULTS.md")

HEAD = f"""\
# Figures

Written by `make bench`. Each figure is the median of {RUNS} runs after one that does not count (of 3 for many runs at
once), with both cores free. Ratios matter more than absolutes: another machine moves all of them together.
"""


def main() -> int:
    """Measure, print and write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        groups = {
            "Command line": command_line.figures(folder / "command-line"),
            "Monstrous files": command_line.monstrous(folder / "monstrous"),
            "Engine": [*engine.figures(folder / "engine"), *streaming.figures()],
            "Loop": loop.figures(),
            "Durable runs": [*durable.figures(folder / "durable"), *workers.figures(folder / "workers")],
            "Server": server.figures(folder / "server"),
        }
    text = report(groups)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    over = [figure.name for group in groups.values() for figure in group if not figure.kept]
    if over:
        print(f"above the limit: {'; '.join(over)}", file=sys.stderr)
    return 1 if over else 0


def report(groups: dict[str, Sequence[Figure]]) -> str:
    """Write the figures as a page."""
    lines = [HEAD, *(f"- {line}" for line in machine()), ""]
    for title, figures in groups.items():
        lines += [f"## {title}", "", "| figure | measured | limit | kept |", "|---|---|---|---|"]
        lines += [row(figure) for figure in figures]
        lines.append("")
    return "\n".join(lines)


def row(figure: Figure) -> str:
    """Write one figure as a row."""
    limit = "" if figure.limit is None else f"≤ {amount(figure.limit, figure.unit)}"
    note = f" ({figure.note})" if figure.note else ""
    kept = "" if figure.limit is None else "yes" if figure.kept else "**no**"
    return f"| {figure.name} | {amount(figure.value, figure.unit)} | {limit}{note} | {kept} |"


def amount(value: float, unit: str) -> str:
    """Write an amount with three digits that count."""
    return f"{value:.3g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
