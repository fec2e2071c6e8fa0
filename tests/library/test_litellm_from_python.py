"""A loop that calls a provider through LiteLLM, which keeps its connections for the whole process."""

import asyncio

from tests.support.openai_server import call, message, serving
from tuvl import AgentLoop, Limits, LiteLLM, Price


def lookup(number: str) -> str:
    """Look an order up."""
    return f"{number} is lost"


async def test_runs_through_litellm_overlap_and_the_last_one_closes_the_connections():
    async with serving() as server:
        server.queue(message(calls=[call("lookup", '{"number":"A-1"}')], finish="tool_calls"), message("done"))
        for _ in range(2):
            server.queue(message(calls=[call("lookup", '{"number":"A-1"}')], finish="tool_calls"))
        server.queue(message("done"), message("done"))
        model = LiteLLM(
            model="openai/local",
            api_base=server.url,
            api_key="sk-secret-456",
            price=Price(input_per_mtok=1, output_per_mtok=1),
        )
        loop = AgentLoop(model=model, tools=[lookup], limits=Limits(cost_budget_usd=1))
        first = await loop.run("go")
        assert (first.output, first.messages[3].content) == ("done", '"A-1 is lost"')
        results = await asyncio.gather(loop.run("go"), loop.run("go"))
        assert {result.signal for result in results} == {"default"}
        assert "sk-secret-456" not in repr(model)
