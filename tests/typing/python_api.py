"""The public names as people write them. mypy reads this file (`make type`); nobody runs it.

Lines with an `ignore` must be errors: strict mode complains about an ignore that ignores nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

from tuvl import (
    AgentLoop,
    AgentResult,
    ApprovalDecision,
    ApprovalRequest,
    Compaction,
    Conclude,
    Event,
    ExitReason,
    Limits,
    LiteLLM,
    LiveRun,
    Message,
    ModelReply,
    ModelRequest,
    OpenAICompatible,
    Price,
    Retry,
    RunControl,
    Toolbox,
    ToolContext,
    ToolPolicy,
    tool,
)
from tuvl.testing import FakeToolbox, ScriptedModel, calls, reply
from tuvl.values import JsonObject, JsonValue


def lookup_order(number: str) -> dict[str, str]:
    """Look an order up."""
    return {"number": number}


@tool(effects="read", timeout_s=5, approval=lambda arguments: arguments["euros"] != 0)
async def refund(number: str, euros: float) -> bool:
    """Pay back."""
    return bool(number and euros)


@tool
def bare(context: ToolContext) -> str:
    """Say whom it is for."""
    return context.principal.id


def call_marked(context: ToolContext) -> None:
    """A marked function is still the function it was."""
    assert_type(bare(context), str)
    assert_type(lookup_order("A-1"), dict[str, str])


class OwnModel:
    """A model of one's own."""

    @property
    def name(self) -> str:
        """Its name."""
        return "own"

    @property
    def price(self) -> Price | None:
        """Its price."""
        return None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer."""
        return ModelReply(message=Message(role="assistant", content=str(len(request.messages))))

    async def aclose(self) -> None:
        """Nothing is held."""


class Person:
    """Somebody who approves."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide."""
        return ApprovalDecision(approved=request.tool == "refund", by="ann")


class Narrow:
    """A surface."""

    async def offered(self, turn: int, declared: Sequence[str]) -> frozenset[str] | None:
        """Offer the first tool."""
        return frozenset(declared[:1]) if turn > 2 else None


@dataclass
class Refund:
    """A typed result."""

    euros: float


async def use() -> None:
    """Write every kind of definition."""
    loop = AgentLoop(
        model="openai/gpt-4.1-mini",
        tools=[lookup_order, refund, bare],
        instructions="Be brief.",
        outcomes=("resolved", "escalated"),
        result_type=Refund,
        limits=Limits(max_iterations=6, token_budget=20_000, cost_budget_usd=0.10, max_wall_clock_s=60),
        retry=Retry(attempts=3),
        policy=ToolPolicy(concurrency=4),
        conclude=Conclude(margin=1),
        compaction=Compaction(max_tokens=100_000, model=OwnModel()),
        approvals=Person(),
        surface=Narrow(),
    )
    result = await loop.run({"order": "A-1"}, untrusted=["order"], control=RunControl())
    assert_type(result, AgentResult)
    assert_type(result.output, JsonValue)
    assert_type(result.output_as(Refund), Refund)
    assert_type(result.error, ExitReason | None)
    assert_type(result.trace, tuple[JsonObject, ...])
    assert_type(loop.run_sync("go"), AgentResult)
    async with loop.start("go") as run:
        assert_type(run, LiveRun)
        async for event in run:
            assert_type(event, Event)

    AgentLoop(model=OwnModel())
    AgentLoop(model=OwnModel)
    AgentLoop(model=lambda: ScriptedModel([calls("lookup_order", {"number": "A-1"}), reply("done")]))
    AgentLoop(model=LiteLLM(model="anthropic/any", api_key="k", price=Price(input_per_mtok=1, output_per_mtok=2)))
    async with OpenAICompatible(api_base="http://127.0.0.1:8080/v1", model="local").connected() as model:
        AgentLoop(model=model, tools=FakeToolbox({"lookup_order": None}, like=Toolbox.from_functions(lookup_order)))

    AgentLoop(model=7)  # type: ignore[arg-type]
    AgentLoop("openai/gpt-4.1")  # type: ignore[call-arg]
    AgentLoop(model=OwnModel(), surface=Person())  # type: ignore[arg-type]
    Limits(max_iterations="6")  # type: ignore[arg-type]
    tool(effects="wipe")  # type: ignore[call-overload]
    await refund("A-1", "five")  # type: ignore[arg-type]
