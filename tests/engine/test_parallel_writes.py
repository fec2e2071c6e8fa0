"""N05 wf.parallel_merge: what runs together keeps its own keys, and of a shared one the last call's value counts."""

from pathlib import Path

from tests.engine.run_support import Project


def nodes() -> str:
    made = [
        f"""
@node("write{number}", effects="read")
async def write{number}(ctx):
    return await write(ctx, {number})
"""
        for number in range(3)
    ]
    return f"""
import asyncio

from tuvl import node

done = {{}}


async def write(ctx, number):
    mine, after = (done.setdefault(each, asyncio.Event()) for each in (number, number + 1))
    if number < 2:
        async with asyncio.timeout(20):
            await after.wait()  # the last call ends first, and the first one last
    mine.set()
    return {{f"own{{number}}": number, "shared": number}}

{"".join(made)}
"""


def agent(*order: int) -> str:
    tools = ", ".join(f"{{ ref: w{number}, description: Writes {number}., writes_context: true }}" for number in order)
    steps = [
        f"- {{ id: agent, kind: Agent, mode: autonomous, routes: {{ max_iterations: END, error: END, aborted: END }}, "
        f"agent: {{ model: default, steering: Write., tool_concurrency: 3, tools: [{tools}] }} }}"
    ]
    steps += [f"- {{ id: w{number}, kind: Functional, runner: write{number} }}" for number in range(3)]
    return "\n".join(steps)


async def test_calls_that_run_together_keep_their_own_keys_and_the_last_call_s_shared_one(tmp_path: Path) -> None:
    project = Project(tmp_path).node(nodes()).workflow(agent(0, 1, 2))
    project.model({"tool_calls": [{"name": f"w{number}", "arguments": {}} for number in range(3)]}, "done")
    result = await project.run({"kept": "as it was", "shared": "before"})
    assert result.status == "completed", result.error
    found = {key: result.context[key] for key in ("own0", "own1", "own2", "shared", "kept")}
    assert found == {"own0": 0, "own1": 1, "own2": 2, "shared": 2, "kept": "as it was"}


async def test_items_that_run_together_write_into_a_context_of_their_own(tmp_path: Path) -> None:
    steps = """
        - { id: each, kind: ForEach, items: "{{ list }}", as: item, step: body, concurrency: 3, output_key: all }
        - { id: body, kind: Functional, runner: set, values: { shared: "{{ item }}", own: "{{ shared }}" } }
    """
    result = await Project(tmp_path, steps).run({"list": [1, 2, 3], "shared": "before"})
    assert result.status == "completed", result.error
    assert result.context["all"] == [{"shared": item, "own": "before"} for item in (1, 2, 3)]
    assert (result.context["shared"], "own" in result.context) == ("before", False)
