"""The engine's own cost: a step, an agent's turn, and many runs at once. No process start, no provider."""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.measure import Figure, median, peak_mb, run_process
from benchmarks.projects import write
from tuvl.guardrails.guard import Guard
from tuvl.guardrails.guards.max_chars import MaxChars
from tuvl.guardrails.guards.pii_mask import PiiMask
from tuvl.guardrails.guards.regex_deny import RegexDeny
from tuvl.guardrails.masking.masker import masker_for
from tuvl.heap import settle_heap
from tuvl.linear_regex import LinearRegex
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import load_settings
from tuvl.values import JsonObject, JsonValue, dump_json

CROWD = 500
CROWD_TURNS = 10
LATENCY_S = 0.1

FIVE_KB: JsonObject = {"records": [{"id": index, "name": "n" * 40, "tags": ["a", "b"]} for index in range(60)]}

CHAIN_STEP = "    - {{ id: s{number}, kind: Functional, runner: set, values: {{ total: {number} }} }}\n"

LOOP = """\
kind: Workflow
metadata: { name: loop }
spec:
  limits: { max_steps: 10 }
  steps:
    - id: agent
      kind: Agent
      mode: autonomous
      agent:
        model: bench
        steering: Go on until you are stopped.
        tools:
          - ref: count
            description: Count.
            parameters: { type: object, properties: { n: { type: integer } } }
        max_iterations: TURNS
      routes: { default: END, max_iterations: END }
    - { id: count, kind: Functional, runner: set, values: { counted: "{{ args.n }}" } }
"""

ENDLESS = """\
kind: AgentModel
metadata: { name: bench }
spec:
  provider: scripted
  replies:
    - when: { role: user }
      tool_calls: [{ name: count, arguments: { n: 1 } }]
      usage: { input_tokens: 100, output_tokens: 10 }
      delay_s: LATENCY
    - when: { role: tool }
      tool_calls: [{ name: count, arguments: { n: 2 } }]
      usage: { input_tokens: 100, output_tokens: 10 }
      delay_s: LATENCY
"""


def figures(folder: Path) -> list[Figure]:
    """Measure every figure of the engine, with projects written below `folder`."""
    turns = {count: loop_seconds(folder, count) for count in (10, 100, 1000)}
    early = (turns[100] - turns[10]) / 90
    late = (turns[1000] - turns[100]) / 900
    return [
        Figure(name="a built-in step, 5 KB of context", value=step_ms(folder), unit="ms", limit=0.1),
        Figure(name="an agent's turn with one tool call, turns 10 to 100", value=early * 1000, unit="ms", limit=0.2),
        Figure(name="the same, turns 100 to 1000", value=late * 1000, unit="ms", limit=0.2),
        Figure(name="later turns against earlier ones", value=late / early, unit="×", limit=1.5),
        Figure(name="a regex, a length and a mask guard on an 8 KB result", value=guards_ms(), unit="ms", limit=0.8),
        *crowd_figures(folder, turn_s=late),
    ]


def guards_ms() -> float:
    """Measure three guards on one tool result that holds an address and a number to mask; CPU time."""
    records: list[JsonValue] = [{"id": index, "name": "n" * 20, "note": f"soon {index}"} for index in range(140)]
    text = dump_json({"records": records, "mail": "jo@example.com", "phone": "+49 30 1234567"})
    guards: list[Guard] = [
        PiiMask(masker_for(())),
        RegexDeny((LinearRegex("(?i)forbidden|secret-[0-9]+"), LinearRegex("BEGIN PRIVATE"))),
        MaxChars(100_000),
    ]

    async def look() -> None:
        passed = text
        for guard in guards:
            passed = await guard.look(passed)

    async def measure() -> float:
        await look()
        started = time.process_time()
        for _ in range(200):
            await look()
        return (time.process_time() - started) / 200 * 1000

    return median(lambda: asyncio.run(measure()))


def step_ms(folder: Path) -> float:
    """Measure one step: the difference between a long and a short chain of them."""
    seconds = {count: chain_seconds(folder, count) for count in (50, 550)}
    return (seconds[550] - seconds[50]) / 500 * 1000


def chain_seconds(folder: Path, steps: int) -> float:
    """Measure one run of so many steps."""
    head = f"kind: Workflow\nmetadata: {{ name: chain }}\nspec:\n  limits: {{ max_steps: {steps} }}\n  steps:\n"
    project = folder / f"chain-{steps}"
    write(project / "workflows" / "chain.yaml", head + "".join(CHAIN_STEP.format(number=n) for n in range(steps)))
    return run_seconds(project, "chain", FIVE_KB)


def loop_seconds(folder: Path, turns: int) -> float:
    """Measure one run of an agent of so many turns."""
    project = folder / f"loop-{turns}"
    write_loop(project, turns=turns, latency_s=0.0)
    return run_seconds(project, "loop", FIVE_KB)


def write_loop(project: Path, *, turns: int, latency_s: float) -> None:
    """Write a project whose agent calls one tool a turn until it is stopped."""
    write(project / "workflows" / "loop.yaml", LOOP.replace("TURNS", str(turns)))
    write(project / "llms" / "bench.yaml", ENDLESS.replace("LATENCY", str(latency_s)))


def run_seconds(project: Path, workflow: str, values: JsonObject) -> float:
    """Return the median CPU time of one run in a warm process; nothing in it waits."""

    async def measure() -> float:
        engine, plan = prepare(project, workflow)
        started = time.process_time()
        result = await engine.run(plan, values)
        seconds = time.process_time() - started
        await engine.aclose()
        if result.status != "completed":
            raise RuntimeError(f"the run of {workflow} ended as {result.status}: {result.error}")
        return seconds

    return median(lambda: asyncio.run(measure()))


def prepare(project: Path, workflow: str):
    """Return an engine for a project, and the plan of one workflow."""
    index = ProjectIndex(project)
    document = index.workflow(workflow)
    if document is None:
        raise RuntimeError(f"no workflow {workflow!r} in {project}")
    engine = Engine(index, settings=load_settings({}), environ={})
    return engine, engine.plan(document)


def crowd_figures(folder: Path, *, turn_s: float) -> list[Figure]:
    """Measure many runs at once, in a process of their own so that its memory can be told."""
    project = folder / "crowd"
    write_loop(project, turns=CROWD_TURNS, latency_s=LATENCY_S)
    command = [sys.executable, "-m", "benchmarks.engine", str(project)]
    root = Path(__file__).resolve().parent.parent
    seen = [json.loads(run_process(command, cwd=root).stdout) for _ in range(3)]
    seconds = sorted(entry["seconds"] for entry in seen)[1]
    memory = sorted(entry["kb_a_run"] for entry in seen)[1]
    floor = max(CROWD_TURNS * LATENCY_S, CROWD * CROWD_TURNS * turn_s)
    name = f"{CROWD} runs at once, {CROWD_TURNS} turns each, {LATENCY_S * 1000:.0f} ms a model call"
    return [
        Figure(name=name, value=seconds, unit="s", limit=1.5 * floor, note="1.5 × the larger of latency and CPU"),
        Figure(name="memory of one of them", value=memory, unit="KB", limit=100),
    ]


async def crowd(project: Path, runs: int) -> float:
    """Run so many at once and return how long they took together."""
    engine, plan = prepare(project, "loop")
    started = time.perf_counter()
    results = await asyncio.gather(*(engine.run(plan, {"number": number}) for number in range(runs)))
    seconds = time.perf_counter() - started
    await engine.aclose()
    if any(result.status != "completed" for result in results):
        raise RuntimeError("a run did not complete")
    return seconds


def main(project: Path) -> None:
    """Print what a crowd costs, as JSON; the process is this one."""
    asyncio.run(crowd(project, 1))
    settle_heap()  # as servers and workers do
    before = peak_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    seconds = asyncio.run(crowd(project, CROWD))
    after = peak_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    print(json.dumps({"seconds": seconds, "kb_a_run": (after - before) * 1000 / CROWD}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
