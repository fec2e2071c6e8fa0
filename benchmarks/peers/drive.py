"""Drive one library through one agent, in a process of its own: `python drive.py PEER PORT TURNS RUNS`.

Prints JSON: seconds to import, milliseconds a turn in each run, peak memory in MB. `bare` sends the same requests with
httpx and nothing around it: what it takes is the server's and the wire's, and is taken off every other figure.
"""

import asyncio
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

PROMPT = "Look things up until you are done."
TOOL = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}

Run = Callable[[], Awaitable[str]]


def bare(url: str, turns: int) -> Run:
    """Send the requests, nothing else."""
    import httpx

    client = httpx.AsyncClient(timeout=60)
    tools = [{"type": "function", "function": {"name": "lookup", "description": "Look up.", "parameters": TOOL}}]

    async def run() -> str:
        messages: list[dict[str, object]] = [{"role": "user", "content": PROMPT}]
        while True:
            response = await client.post(
                f"{url}/chat/completions", json={"model": "scripted", "messages": messages, "tools": tools}
            )
            message = response.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            messages.append(message)
            call = message["tool_calls"][0]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "found"})

    return run


def tuvl(url: str, turns: int) -> Run:
    """Run tuvl's loop from Python."""
    from tuvl import AgentLoop, Limits, OpenAICompatible

    async def lookup(query: str) -> str:
        """Look up."""
        return "found"

    loop = AgentLoop(
        model=OpenAICompatible(api_base=url, model="scripted", api_key="none"),
        tools=[lookup],
        limits=Limits(max_iterations=turns + 2),
    )

    async def run() -> str:
        result = await loop.run(PROMPT)
        return str(result.output)

    return run


def pydantic_ai(url: str, turns: int) -> Run:
    """Run pydantic-ai's agent."""
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def lookup(query: str) -> str:
        """Look up."""
        return "found"

    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, tools=[lookup])

    async def run() -> str:
        return (await agent.run(PROMPT, usage_limits=UsageLimits(request_limit=None))).output

    return run


def langgraph(url: str, turns: int) -> Run:
    """Run langgraph's prebuilt ReAct agent."""
    import warnings

    warnings.simplefilter("ignore")
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    @tool
    async def lookup(query: str) -> str:
        """Look up."""
        return "found"

    agent = create_react_agent(ChatOpenAI(base_url=url, api_key="none", model="scripted"), [lookup])

    async def run() -> str:
        state = await agent.ainvoke({"messages": [("user", PROMPT)]}, config={"recursion_limit": 4 * turns + 10})
        return str(state["messages"][-1].content)

    return run


def openai_agents(url: str, turns: int) -> Run:
    """Run the OpenAI Agents SDK."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    async def lookup(query: str) -> str:
        """Look up."""
        return "found"

    client = AsyncOpenAI(base_url=url, api_key="none")
    model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
    agent = Agent(name="peer", instructions="", model=model, tools=[lookup])

    async def run() -> str:
        return str((await Runner.run(agent, PROMPT, max_turns=turns + 2)).final_output)

    return run


PEERS = {
    "bare": bare,
    "tuvl": tuvl,
    "pydantic-ai": pydantic_ai,
    "langgraph": langgraph,
    "openai-agents": openai_agents,
}


def main() -> None:
    """Measure one peer."""
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    peer, port, turns, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    began = time.perf_counter()
    run = PEERS[peer](f"http://127.0.0.1:{port}/v1", turns)
    import_s = time.perf_counter() - began

    async def measure() -> list[float]:
        assert await run() == "done"  # warms up, and shows that the peer does the work
        taken = []
        for _ in range(runs):
            start = time.perf_counter()
            await run()
            taken.append((time.perf_counter() - start) / (turns + 1) * 1000)
        return taken

    taken = asyncio.run(measure())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"import_s": import_s, "turn_ms": statistics.median(taken), "peak_mb": peak}))


if __name__ == "__main__":
    main()
