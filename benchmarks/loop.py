"""The bounded loop at work: calls of one reply run together, arguments checked, a very long run kept small."""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.measure import Figure, median, run_process
from tuvl import (
    AgentLoop,
    Compaction,
    Limits,
    Message,
    ModelReply,
    ModelRequest,
    Price,
    ToolCall,
    ToolPolicy,
    Usage,
    tool,
)
from tuvl.tools.arguments import check_arguments
from tuvl.tools.schema import ValueSchema
from tuvl.values import JsonObject

TOOL_S = 0.2
TOGETHER = 8
TURNS = 2_000
RESULT = "x" * 4_000

ORDER = ValueSchema(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["customer", "lines"],
        "properties": {
            "customer": {"type": "string", "pattern": "^C-[0-9]+$"},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["sku", "count"],
                    "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
                },
            },
        },
    }
)
ONE_KB: JsonObject = {"customer": "C-1", "lines": [{"sku": f"sku-{n:04}", "count": n + 1} for n in range(30)]}


class Caller:
    """A model that asks for a number of calls in each of its turns, then answers."""

    name = "bench"
    price: Price | None = None

    def __init__(self, *, turns: int, calls: int) -> None:
        self._left = turns
        self._calls = calls

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask, or answer."""
        if self._left == 0:
            return ModelReply(message=Message(role="assistant", content="done"), usage=Usage(input_tokens=1))
        self._left -= 1
        calls = tuple(
            ToolCall(id=f"c{self._left}-{n}", name="work", arguments=f'{{"n": {n}}}') for n in range(self._calls)
        )
        message = Message(role="assistant", tool_calls=calls)
        return ModelReply(message=message, finish_reason="tool_calls")

    async def aclose(self) -> None:
        """Hold nothing."""


class Summaries(Caller):
    """A model that writes summaries."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Sum up."""
        return ModelReply(message=Message(role="assistant", content="It went on."))


def figures() -> list[Figure]:
    """Measure them."""
    return [
        Figure(
            name=f"{TOGETHER} reading tools of {TOOL_S * 1000:g} ms in one reply, {TOGETHER} at once",
            value=median(together_s, runs=3),
            unit="s",
            limit=0.3,
        ),
        Figure(name="strict check of a call of 1 KB", value=median(check_ms), unit="ms", limit=0.05),
        Figure(
            name=f"memory that a run of {TURNS:,} compacted turns gains past its first quarter",
            value=growth_mb(),
            unit="MB",
            limit=8,
        ),
    ]


def together_s() -> float:
    """Run the tools of one reply together."""

    @tool(effects="read")
    async def work(n: int) -> str:
        """Work."""
        await asyncio.sleep(TOOL_S)
        return "done"

    loop = AgentLoop(
        model=Caller(turns=1, calls=TOGETHER), tools=[work], policy=ToolPolicy(concurrency=TOGETHER), limits=Limits()
    )
    started = time.perf_counter()
    assert loop.run_sync("Go.").output == "done"
    return time.perf_counter() - started


def check_ms() -> float:
    """Check one call's arguments."""
    started = time.perf_counter()
    for _ in range(1_000):
        _, problem = check_arguments(ONE_KB, ORDER, "strict")
        assert problem is None
    return time.perf_counter() - started


def growth_mb() -> float:
    """Run very long in a process of its own."""
    done = run_process([sys.executable, "-m", "benchmarks.loop"], cwd=Path(__file__).resolve().parents[1])
    return float(json.loads(done.stdout)["growth_mb"])


def main() -> None:
    """Run one long loop and print by how much the process grew after its first quarter."""
    seen: list[float] = []

    @tool(effects="read")
    async def work(n: int) -> str:
        """Work."""
        seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return RESULT

    loop = AgentLoop(
        model=Caller(turns=TURNS, calls=1),
        tools=[work],
        limits=Limits(max_iterations=TURNS + 1),
        compaction=Compaction(max_tokens=20_000, model=Summaries(turns=0, calls=0)),
    )
    assert loop.run_sync("Go.").output == "done"
    print(json.dumps({"growth_mb": seen[-1] - seen[TURNS // 4]}))


if __name__ == "__main__":
    main()
